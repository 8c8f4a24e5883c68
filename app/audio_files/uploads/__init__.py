"""Uploads of recordings: reservation, signed links, limits and stored objects."""
