"""Sentences that people read in results: the templates, and the words that fill them."""
