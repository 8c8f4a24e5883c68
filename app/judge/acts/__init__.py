"""Acts of lines: what each line of a conversation does, read by models."""
