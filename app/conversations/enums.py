"""Enumerations of conversations and messages."""

from enum import StrEnum

PLATFORMS = ("web", "whatsapp", "sms", "email", "app", "other")
# On these, customers do not expect an answer within minutes.
ASYNCHRONOUS = frozenset({"email", "sms", "whatsapp"})
ROLES = ("customer", "agent", "bot", "system")


class ConversationStatus(StrEnum):
    """Open until it ends in one of two ways."""

    OPEN = "open"
    CLOSED = "closed"
    ABANDONED = "abandoned"


ENDED = frozenset({ConversationStatus.CLOSED, ConversationStatus.ABANDONED})
