"""Imports: the way in for what other systems know."""
