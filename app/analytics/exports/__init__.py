"""Exports: the request, the work on it, and the download of the file."""
