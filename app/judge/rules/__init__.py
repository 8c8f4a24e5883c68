"""The rules by which code answers the criteria of a scorecard."""
