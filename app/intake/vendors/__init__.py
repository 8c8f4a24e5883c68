"""Vendors whose webhooks are taken, one module each."""
