"""Engagements: evaluation projects that group conversations."""
