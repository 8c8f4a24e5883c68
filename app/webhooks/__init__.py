"""Webhooks: subscriptions of receivers, the deliveries owed to them, and the sender."""
