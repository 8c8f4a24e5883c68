"""Scorecards as values, and the problems of their documents."""
