"""Insights besides the score: outcome, issue, topics and summary."""
