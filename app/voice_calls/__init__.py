"""Voice calls: calls of a voice bot with their turns, recording and performance assessment."""
