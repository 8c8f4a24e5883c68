"""Marshmallow schemas of scorecards and of their document."""
