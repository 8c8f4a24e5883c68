"""Facts: measurements of a conversation, made before any criterion is judged."""
