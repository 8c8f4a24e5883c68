"""Enums of coaching, as the API spells them."""

from app.core.enums import LabelledEnum


class SessionState(LabelledEnum):
    """State of a coaching session, in the order in which it advances."""

    PLANNED = "planned", "Planned"
    HELD = "held", "Held"
    ACKNOWLEDGED = "acknowledged", "Acknowledged by the agent"
    CLOSED = "closed", "Closed"


class NotesFor(LabelledEnum):
    """Readers of the notes of a session."""

    BOTH = "both", "Coaches and the agent"
    COACH = "coach", "Coaches, not the agent"
