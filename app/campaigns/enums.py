"""Enumerations of campaigns."""

from enum import StrEnum

CHANNELS = ("voice", "chat", "voice_bot")


class CampaignType(StrEnum):
    SUPPORT = "support"
    SALES = "sales"
    COLLECTIONS = "collections"
    SURVEY = "survey"
    RETENTION = "retention"
    ONBOARDING = "onboarding"
    OTHER = "other"


class CampaignStatus(StrEnum):
    """Status that a client sets."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"


class CampaignCount(StrEnum):
    CONVERSATIONS = "conversations"
    VOICE_CALLS = "voice_calls"
    AUDIO_FILES = "audio_files"
    EVALUATIONS = "evaluations"
