"""Intake: webhooks of telephone systems, voice agents and desks become recordings and conversations."""
