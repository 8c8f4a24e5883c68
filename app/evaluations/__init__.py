"""Evaluations of conversations, recordings and calls, revision by revision."""
