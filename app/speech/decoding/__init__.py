"""Decoding of uploaded recordings, run in a process of its own under limits."""
