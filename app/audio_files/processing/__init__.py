"""Processing of recordings: requests, stages, steps and the expected wait."""
