"""Redaction: finds personal data in texts and replaces it by placeholders."""
