"""Pages of reviews: their queue and plans, examples, agreement and calibration."""
