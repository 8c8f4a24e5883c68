"""Processing of recordings: requests, stages, steps and failures."""
