"""Scorecards as people read and edit them: in words, compared, as a form, tried."""
