"""From the answers to a score, and what to praise and to practise."""
