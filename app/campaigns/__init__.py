"""Campaigns: efforts that contacts belong to, with their targets and what came of them."""
