"""Speed, measured: each command prints its figures and what they stand beside."""
