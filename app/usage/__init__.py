"""Usage: what was used, by whom, and what of it the plan includes."""
