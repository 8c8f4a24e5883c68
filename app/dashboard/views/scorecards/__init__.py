"""Scorecards as people read and edit them: in words, compared, and as a form."""
