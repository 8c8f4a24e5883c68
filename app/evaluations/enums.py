"""The closed lists of evaluations and transcripts (contract B4, B5)."""

from enum import StrEnum


class SourceType(StrEnum):
    """What was evaluated."""

    CONVERSATION = "conversation"
    AUDIO_FILE = "audio_file"
    VOICE_CALL = "voice_call"


class Channel(StrEnum):
    """A human call from a recording, a chat, or a call of a voice bot."""

    VOICE = "voice"
    CHAT = "chat"
    VOICE_BOT = "voice_bot"


class Status(StrEnum):
    """Queued, at work, and then one of three ends."""

    QUEUED = "queued"
    TRANSCRIBING = "transcribing"
    EVALUATING = "evaluating"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELED})


class ReviewStatus(StrEnum):
    """How far people have looked at it."""

    NONE = "none"
    REQUESTED = "requested"
    IN_REVIEW = "in_review"
    REVIEWED = "reviewed"
    DISPUTED = "disputed"
    DISPUTE_ACCEPTED = "dispute_accepted"
    DISPUTE_REJECTED = "dispute_rejected"


class ReviewAction(StrEnum):
    """What a person may do with a judgement."""

    REQUEST = "request"
    START = "start"
    CONFIRM = "confirm"
    OVERRIDE = "override"
    DISPUTE = "dispute"
    ACCEPT_DISPUTE = "accept_dispute"
    REJECT_DISPUTE = "reject_dispute"
    COMMENT = "comment"


REVIEW_ACTIONS = tuple(str(each) for each in ReviewAction)


class TranscriptStatus(StrEnum):
    """Whether the words are there."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class ErrorCode(StrEnum):
    """Why an evaluation failed."""

    TRANSCRIPTION_FAILED = "TRANSCRIPTION_FAILED"
    EMPTY_TRANSCRIPT = "EMPTY_TRANSCRIPT"
    INSUFFICIENT_CONTENT = "INSUFFICIENT_CONTENT"
    UNSUPPORTED_LANGUAGE = "UNSUPPORTED_LANGUAGE"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE"
    ENGINE_OUTPUT_INVALID = "ENGINE_OUTPUT_INVALID"
    INTERNAL = "INTERNAL"


DIRECTIONS = ("inbound", "outbound", "unknown")
BANDS = ("exceeds", "meets", "needs_improvement", "critical")
TRENDS = (
    "improving",
    "slightly_improving",
    "no_change",
    "slightly_declining",
    "declining",
    "not_calculated",
)
RESOLUTIONS = ("resolved", "partially_resolved", "unresolved", "escalated", "unknown")
ROLES = ("agent", "customer", "bot", "supervisor", "system", "unknown")
