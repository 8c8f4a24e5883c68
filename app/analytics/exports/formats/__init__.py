"""Formats of export files, written in batches of rows."""
