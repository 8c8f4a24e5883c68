"""Data of events: the fields that each type has, with the keywords of their JSON Schema."""

from typing import Annotated, Literal, NotRequired, TypedDict

from app.events.messages import SentMessage


class _Keywords(dict[str, object]):
    """JSON Schema keywords of a type; hashable, so that the type can be optional."""

    __hash__ = object.__hash__  # type: ignore[assignment]


_Timestamp = Annotated[str, _Keywords({"format": "date-time"})]
_Count = Annotated[int, _Keywords({"minimum": 0})]
_Score = Annotated[int, _Keywords({"minimum": 0, "maximum": 100})]
_Share = Annotated[float, _Keywords({"minimum": 0, "maximum": 1})]
_Amount = Annotated[float, _Keywords({"minimum": 0})]
_Period = Annotated[str, _Keywords({"pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"})]
_EngagementId = Annotated[
    str, _Keywords({"description": "Id of the engagement, or an empty string."})
]
_CampaignName = Annotated[
    str, _Keywords({"description": "Name of the campaign, or an empty string."})
]
_TestMark = Annotated[
    bool, _Keywords({"description": "Only on a test delivery: the data is a sample."})
]


class EvaluationCompleted(TypedDict):
    """An evaluation is finished; `duration_seconds` is the length of the conversation."""

    evaluation_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    score: _Score
    channel: Literal["voice", "chat", "voice_bot"]
    duration_seconds: _Count
    test: NotRequired[_TestMark]


class AudioTranscribed(TypedDict):
    """A recording is transcribed; `confidence` is the mean of the engine, if it has one."""

    audio_file_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    language: str | None
    duration_seconds: _Count
    segment_count: _Count
    confidence: _Share | None
    test: NotRequired[_TestMark]


class AudioProcessed(TypedDict):
    """A recording is transcribed and evaluated."""

    audio_file_id: str
    evaluation_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    score: _Score
    duration_seconds: _Count
    test: NotRequired[_TestMark]


class VoiceCallCompleted(TypedDict):
    """A voice bot call has ended; times and duration are null if the source has none."""

    voice_call_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    status: Literal["completed", "no_answer", "busy", "failed", "canceled", "voicemail"]
    end_reason: str | None
    direction: Literal["inbound", "outbound", "unknown"]
    duration_seconds: _Count | None
    started_at: _Timestamp | None
    ended_at: _Timestamp | None
    transferred: bool
    test: NotRequired[_TestMark]


class ExportReady(TypedDict):
    """An export can be downloaded until `expires_at`."""

    job_id: str
    dataset: str
    format: Literal["csv", "json", "jsonl", "xlsx", "parquet"]
    row_count: _Count
    file_size_bytes: _Count
    expires_at: _Timestamp
    test: NotRequired[_TestMark]


class UsageQuotaWarning(TypedDict):
    """Usage has reached the threshold; published once for each metric and billing period."""

    billing_period: _Period
    metric: Literal["calls", "webhooks", "storage_gb"]
    used: _Amount
    included: _Amount
    percent: _Amount
    threshold_percent: _Amount
    test: NotRequired[_TestMark]


class ApiKeyRotated(TypedDict):
    """A key is rotated; the previous strings end at once if their time is null."""

    key_id: str
    name: str
    rotated_at: _Timestamp
    previous_credential_expires_at: _Timestamp | None
    test: NotRequired[_TestMark]


class ConversationFailed(TypedDict):
    """Conversation without a result; `evaluation_id` is null if it failed before it was evaluated."""

    source_type: Literal["audio_file", "conversation", "voice_call", "import"]
    source_id: str
    evaluation_id: str | None
    engagement_id: _EngagementId
    campaign: _CampaignName
    code: str
    message: str
    test: NotRequired[_TestMark]


class EvaluationReviewed(TypedDict):
    """A person has reviewed an evaluation; `score` is the score from now on."""

    evaluation_id: str
    review_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    action: Literal["confirm", "override", "dispute", "accept_dispute", "reject_dispute"]
    review_status: Literal["reviewed", "disputed", "dispute_accepted", "dispute_rejected"]
    score_before: _Score
    score: _Score
    test: NotRequired[_TestMark]


class EvaluationAcknowledged(TypedDict):
    evaluation_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    revision: _Count
    user_id: Annotated[
        str, _Keywords({"description": "Account of the agent, or the API key that acted for them."})
    ]
    test: NotRequired[_TestMark]


class EvaluationDisputed(TypedDict):
    """A judgement is disputed; `criteria` has the keys of the criteria."""

    evaluation_id: str
    review_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    criteria: list[str]
    test: NotRequired[_TestMark]


class DisputeDecided(TypedDict):
    """A dispute is decided; `score` is the score from now on."""

    evaluation_id: str
    review_id: str
    engagement_id: _EngagementId
    campaign: _CampaignName
    decision: Annotated[
        Literal["accepted", "rejected"], _Keywords({"description": "What became of the dispute."})
    ]
    score_before: _Score
    score: _Score
    test: NotRequired[_TestMark]


EventData = (
    EvaluationCompleted
    | AudioTranscribed
    | AudioProcessed
    | VoiceCallCompleted
    | ExportReady
    | UsageQuotaWarning
    | ApiKeyRotated
    | ConversationFailed
    | EvaluationReviewed
    | EvaluationAcknowledged
    | EvaluationDisputed
    | DisputeDecided
    | SentMessage
)
