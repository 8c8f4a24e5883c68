"""Pages of agents about their own evaluations."""
