"""The words that campaigns are described in (contract B10)."""

from enum import StrEnum

CHANNELS = ("voice", "chat", "voice_bot")


class CampaignType(StrEnum):
    """What a campaign is for."""

    SUPPORT = "support"
    SALES = "sales"
    COLLECTIONS = "collections"
    SURVEY = "survey"
    RETENTION = "retention"
    ONBOARDING = "onboarding"
    OTHER = "other"


class CampaignStatus(StrEnum):
    """Where a campaign stands, as its owner says."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"


class Counted(StrEnum):
    """What is counted of a campaign."""

    CONVERSATIONS = "conversations"
    VOICE_CALLS = "voice_calls"
    AUDIO_FILES = "audio_files"
    EVALUATIONS = "evaluations"
