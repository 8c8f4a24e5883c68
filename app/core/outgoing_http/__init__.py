"""Outgoing HTTP: requests to addresses that a policy allows, each under one deadline."""
