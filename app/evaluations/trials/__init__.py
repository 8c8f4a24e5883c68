"""Trials of scorecards on past conversations: requested, run by the rules, compared."""
