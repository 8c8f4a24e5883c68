"""A transcript as a dialogue: who says what, which events there are, and what follows what."""
