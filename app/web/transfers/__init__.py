"""Uploads and downloads by signed URL."""
