"""Webhook subscriptions, and the sender that tells them what happened."""
