"""Recognition by an OpenAI-compatible transcription server."""
