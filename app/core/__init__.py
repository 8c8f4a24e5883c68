"""Core: the tools that every other package uses; nothing here imports another package."""
