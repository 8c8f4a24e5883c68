"""Acts: what each line of a conversation does, and what follows from it for the outcome."""
