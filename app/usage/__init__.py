"""Usage: metered calls, webhook deliveries and storage, compared with the plan."""
