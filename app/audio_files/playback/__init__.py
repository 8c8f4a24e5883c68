"""Waveforms and play copies: stored next to a recording, so that people can see and hear it."""
