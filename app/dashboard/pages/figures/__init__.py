"""Pages of figures: overview, leaderboards, executives, trends, topics, agreement and calibration."""
