"""Backups: the database, recordings, exports and, on request, the encrypted master keys."""
