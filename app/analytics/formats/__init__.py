"""Formats: how rows are written into a file, one batch after the other."""
