"""Audio files: recordings that are uploaded, transcribed and evaluated."""
