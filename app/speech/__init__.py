"""Transcription of sound files, which may come from strangers."""
