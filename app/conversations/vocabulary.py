"""The closed lists of conversations and messages (contract B8)."""

from enum import StrEnum

PLATFORMS = ("web", "whatsapp", "sms", "email", "app", "other")
# Nobody expects an answer within minutes there.
ASYNCHRONOUS = frozenset({"email", "sms", "whatsapp"})
ROLES = ("customer", "agent", "bot", "system")


class ConversationStatus(StrEnum):
    """Open while it may go on; then one of two ends."""

    OPEN = "open"
    CLOSED = "closed"
    ABANDONED = "abandoned"


ENDED = frozenset({ConversationStatus.CLOSED, ConversationStatus.ABANDONED})
