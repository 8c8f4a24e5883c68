"""Pages of figures: overview, leaderboards, executives, trends and topics."""
