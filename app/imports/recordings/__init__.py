"""Recordings as records of an import: their metadata, their storage and their processing."""
