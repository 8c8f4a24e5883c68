"""Engagements: evaluation projects that contacts belong to."""
