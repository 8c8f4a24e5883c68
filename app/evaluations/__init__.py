"""Evaluations: what we thought of a conversation, a recording or a call, revision by revision."""
