"""Enumerations of engagements."""

from enum import StrEnum


class EngagementStatus(StrEnum):
    """Active from creation; completed once a client sets it."""

    ACTIVE = "active"
    COMPLETED = "completed"
