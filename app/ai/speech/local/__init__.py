"""Recognition with a Whisper model on this machine."""
