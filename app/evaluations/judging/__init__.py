"""Judging stored transcripts: one by one and in bulk, with the stored answers of models."""
