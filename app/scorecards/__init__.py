"""Scorecards: what is asked of a conversation, version by version."""
