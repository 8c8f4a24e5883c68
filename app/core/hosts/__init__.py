"""Hosts: their heartbeats, the duties that one of them has, and their clocks."""
