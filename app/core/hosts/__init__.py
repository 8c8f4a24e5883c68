"""Hosts: their heartbeats, the keepers among them, and their clocks."""
