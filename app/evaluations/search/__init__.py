"""Search of what was said: its terms, its index in the database, and the turns that match."""
