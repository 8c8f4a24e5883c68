"""Transcripts: stored as judged, read back for the judge, shown masked or raw."""
