"""Reports over facts: summary, leaderboards and trends."""
