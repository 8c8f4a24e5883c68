"""Reviews: people confirm, override, dispute or comment on evaluations."""
