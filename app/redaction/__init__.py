"""Redaction: masked texts, and their originals in encrypted form."""
