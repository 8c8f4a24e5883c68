"""Enumerations of review plans."""

from app.core.enums import LabelledEnum


class AssignmentState(LabelledEnum):
    """State of a conversation that was given to a reviewer."""

    OPEN = "open", "Open"
    IN_REVIEW = "in_review", "In review"
    DONE = "done", "Done"
    REPLACED = "replaced", "Replaced"
    EXPIRED = "expired", "Expired"


# The reviewer still has to review it.
HELD = (AssignmentState.OPEN, AssignmentState.IN_REVIEW)
