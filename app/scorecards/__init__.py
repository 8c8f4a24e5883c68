"""Scorecards: the criteria that conversations are judged by, version by version."""
