"""The closed lists of voice calls (contract B9)."""

from enum import StrEnum

ENDED_BY = ("customer", "bot", "agent", "system")
ROLES = ("customer", "bot", "agent", "system")
OUTCOMES = (
    "goal_met",
    "goal_not_met",
    "callback",
    "opt_out",
    "voicemail",
    "transferred",
    "unknown",
)


class CallStatus(StrEnum):
    """On its way, and then one of six ends."""

    QUEUED = "queued"
    RINGING = "ringing"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    NO_ANSWER = "no_answer"
    BUSY = "busy"
    FAILED = "failed"
    CANCELED = "canceled"
    VOICEMAIL = "voicemail"


ENDED = frozenset(CallStatus) - {CallStatus.QUEUED, CallStatus.RINGING, CallStatus.IN_PROGRESS}


class EpaStatus(StrEnum):
    """How far the assessment of a call is."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
