"""What is measured and read of a conversation before any criterion is judged."""
