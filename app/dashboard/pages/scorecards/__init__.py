"""Pages of scorecards: list, versions, editor and trials."""
