"""Marshmallow schemas of evaluations, results, transcripts, reviews and filters."""
