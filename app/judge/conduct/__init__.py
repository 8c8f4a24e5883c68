"""Conduct and feeling, turn by turn: what a customer feels and what an agent does in each line."""
