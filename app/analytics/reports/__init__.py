"""Reports over facts: the summary, leaderboards and trends."""
