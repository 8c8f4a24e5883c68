"""Numbers that more than one part of this room needs."""

MOST_SUBSCRIPTIONS = 50
ATTEMPTS = 3
