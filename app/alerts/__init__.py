"""Alerts: rules that send messages, what they have to say, and digests."""
