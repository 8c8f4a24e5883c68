"""Enum of what agents do with their evaluations, as the API spells it."""

from app.core.enums import LabelledEnum


class ReceiptAction(LabelledEnum):
    SEEN = "seen", "Seen"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    COMMENTED = "commented", "Commented"
