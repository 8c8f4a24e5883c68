"""What was masked: the texts that come in are, and what they were is kept apart and sealed."""
