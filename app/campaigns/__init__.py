"""Campaigns: groups of contacts with targets, counts and a mean score."""
