"""Pages for adding: files of recordings and conversations, and the columns of tables."""
