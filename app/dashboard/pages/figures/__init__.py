"""Pages of figures: overview, leaderboards, trends and topics."""
