"""Marshmallow schemas of evaluations, results, transcripts, re-evaluations and trials."""
