"""Database access: transactions, paging, upserts, row versions and kept answers."""
