"""Insights besides the score: outcome, dimensions, topics and summary."""
