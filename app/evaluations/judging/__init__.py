"""Judging stored transcripts: requests, re-evaluations one by one or in bulk, model answers."""
