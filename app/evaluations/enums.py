"""Enums of evaluations and transcripts."""

from enum import StrEnum

# The most messages of a conversation, or turns of a call.
MAX_MESSAGES = 10_000


class SourceType(StrEnum):
    """Type of the source of an evaluation."""

    CONVERSATION = "conversation"
    AUDIO_FILE = "audio_file"
    VOICE_CALL = "voice_call"


class Channel(StrEnum):
    """Channel: a recorded call, a chat, or a call of a voice bot."""

    VOICE = "voice"
    CHAT = "chat"
    VOICE_BOT = "voice_bot"


class Status(StrEnum):
    """Status of an evaluation: open ones first, then three final ones."""

    QUEUED = "queued"
    TRANSCRIBING = "transcribing"
    EVALUATING = "evaluating"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELED})


class ReviewStatus(StrEnum):
    """Status of the review by people."""

    NONE = "none"
    REQUESTED = "requested"
    IN_REVIEW = "in_review"
    REVIEWED = "reviewed"
    DISPUTED = "disputed"
    DISPUTE_ACCEPTED = "dispute_accepted"
    DISPUTE_REJECTED = "dispute_rejected"


class ReviewAction(StrEnum):
    """Action of a review."""

    REQUEST = "request"
    START = "start"
    CONFIRM = "confirm"
    OVERRIDE = "override"
    DISPUTE = "dispute"
    ACCEPT_DISPUTE = "accept_dispute"
    REJECT_DISPUTE = "reject_dispute"
    COMMENT = "comment"


REVIEW_ACTIONS = tuple(str(action) for action in ReviewAction)
OVERRIDING_ACTIONS = (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE)


class TranscriptStatus(StrEnum):
    """Status of a transcript."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class FailureCode(StrEnum):
    """Reason of a failed evaluation."""

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
