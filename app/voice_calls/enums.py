"""Enumerations of voice calls."""

from enum import StrEnum

from app.evaluations.enums import Channel

SPOKEN_CHANNELS = (Channel.VOICE, Channel.VOICE_BOT)
ENDED_BY = ("customer", "bot", "agent", "system")
ROLES = ("customer", "bot", "agent", "system")
# Values with their labels.
OUTCOMES = {
    "goal_met": "Goal met",
    "goal_not_met": "Goal not met",
    "callback": "Call back agreed",
    "opt_out": "Opted out",
    "voicemail": "Voicemail",
    "transferred": "Transferred",
    "unknown": "Outcome not known",
}


class CallStatus(StrEnum):
    """Three statuses of a running call, and six final ones."""

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
    """Status of the performance assessment of a call."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
