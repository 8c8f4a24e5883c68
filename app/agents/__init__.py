"""Answers of agents to their evaluations: receipts and disputes."""
