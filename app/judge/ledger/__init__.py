"""Ledger of a conversation: the requests of the customer, and what became of each."""
