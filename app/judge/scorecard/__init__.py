"""Scorecards as values, and the enums of their documents."""
