"""Imports: conversations, calls, campaigns and people from other systems."""
