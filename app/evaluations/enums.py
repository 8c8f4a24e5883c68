"""Enums of evaluations and transcripts."""

from enum import StrEnum

from app.core.enums import LabelledEnum
from app.judge.scorecard import schema

# The most messages of a conversation, or turns of a call.
MAX_MESSAGES = 10_000


class SourceType(LabelledEnum):
    CONVERSATION = "conversation", "Chat"
    AUDIO_FILE = "audio_file", "Recording"
    VOICE_CALL = "voice_call", "Call record"


class Channel(LabelledEnum):
    """Channel: a recorded call, a chat, or a call of a voice bot."""

    VOICE = "voice", "Call"
    CHAT = "chat", "Chat"
    VOICE_BOT = "voice_bot", "Voice bot"


class ByDay(LabelledEnum):
    """Day that a period bounds: that of the conversation, or of its evaluation."""

    CONVERSATION = "conversation", "of the conversation"
    JUDGEMENT = "judgement", "of the evaluation"


class Status(LabelledEnum):
    """Status of an evaluation: open ones first, then three final ones."""

    QUEUED = "queued", "Waiting"
    TRANSCRIBING = "transcribing", "Being transcribed"
    EVALUATING = "evaluating", "Being judged"
    COMPLETED = "completed", "Judged"
    FAILED = "failed", "Failed"
    CANCELED = "canceled", "Replaced by newer words"


ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELED})


class ReviewStatus(LabelledEnum):
    NONE = "none", "Not reviewed"
    REQUESTED = "requested", "Review requested"
    IN_REVIEW = "in_review", "In review"
    REVIEWED = "reviewed", "Reviewed"
    DISPUTED = "disputed", "Disputed"
    DISPUTE_ACCEPTED = "dispute_accepted", "Dispute accepted"
    DISPUTE_REJECTED = "dispute_rejected", "Dispute rejected"


class ReviewAction(LabelledEnum):
    REQUEST = "request", "Requested a review"
    START = "start", "Started a review"
    CONFIRM = "confirm", "Confirmed"
    OVERRIDE = "override", "Changed answers"
    DISPUTE = "dispute", "Disputed"
    ACCEPT_DISPUTE = "accept_dispute", "Accepted the dispute"
    REJECT_DISPUTE = "reject_dispute", "Rejected the dispute"
    COMMENT = "comment", "Commented"


REVIEW_ACTIONS = tuple(str(action) for action in ReviewAction)
OVERRIDING_ACTIONS = (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE)


class TranscriptStatus(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class FailureCode(LabelledEnum):
    TRANSCRIPTION_FAILED = "TRANSCRIPTION_FAILED", "The recording could not be transcribed"
    EMPTY_TRANSCRIPT = "EMPTY_TRANSCRIPT", "Nothing was said"
    INSUFFICIENT_CONTENT = "INSUFFICIENT_CONTENT", "Too little was said to judge"
    UNSUPPORTED_LANGUAGE = "UNSUPPORTED_LANGUAGE", "The language is not supported"
    ENGINE_UNAVAILABLE = "ENGINE_UNAVAILABLE", "The judge could not be reached"
    ENGINE_OUTPUT_INVALID = "ENGINE_OUTPUT_INVALID", "The judge gave an unusable answer"
    INTERNAL = "INTERNAL", "The service failed"


BANDS, DIRECTIONS = schema.BANDS, schema.DIRECTIONS
# Values with their labels.
TRENDS = {
    "improving": "Improving",
    "slightly_improving": "Slightly improving",
    "no_change": "Steady",
    "slightly_declining": "Slightly declining",
    "declining": "Declining",
    "not_calculated": "Too short to tell",
}
RESOLUTIONS = {
    "resolved": "Resolved",
    "partially_resolved": "Partly resolved",
    "unresolved": "Not resolved",
    "escalated": "Escalated",
    "unknown": "Resolution not known",
}
ROLES = {
    "agent": "Agent",
    "customer": "Customer",
    "bot": "Bot",
    "supervisor": "Supervisor",
    "system": "System",
    "unknown": "Unknown speaker",
}
JUDGED_BY = {
    "rule": "by rule",
    "metric": "by measurement",
    "model": "by language model",
    "human": "by a reviewer",
}
MOMENT_TYPES = {
    "interruption": "Interruption",
    "dead_air": "Dead air",
    "long_hold": "Long hold",
    "escalation_request": "Asked for a supervisor",
    "complaint": "Complaint",
    "commitment": "Promise",
    "compliance_disclosure": "Disclosure",
    "opt_out": "Opt-out",
    "profanity": "Profanity",
    "rudeness": "Rudeness",
    "danger": "Danger",
    "overlap": "Both talked at once",
    "instruction_in_transcript": "Instruction to the judge",
}
