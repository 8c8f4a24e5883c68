"""Data of each event type; the JSON Schemas are generated from these types."""

from typing import Annotated, Literal, NotRequired, TypedDict


class Keywords(dict[str, object]):
    """JSON Schema keywords of a type; hashable, so that the type can be optional."""

    __hash__ = object.__hash__  # type: ignore[assignment]


Timestamp = Annotated[str, Keywords({"format": "date-time"})]
Count = Annotated[int, Keywords({"minimum": 0})]
Score = Annotated[int, Keywords({"minimum": 0, "maximum": 100})]
Share = Annotated[float, Keywords({"minimum": 0, "maximum": 1})]
Amount = Annotated[float, Keywords({"minimum": 0})]
Period = Annotated[str, Keywords({"pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"})]
EngagementId = Annotated[
    str, Keywords({"description": "Id of the engagement, or an empty string."})
]
CampaignName = Annotated[
    str, Keywords({"description": "Name of the campaign, or an empty string."})
]
TestMark = Annotated[
    bool, Keywords({"description": "Only on a test delivery: the data is a sample."})
]


class EvaluationCompleted(TypedDict):
    """An evaluation is finished; `duration_seconds` is the length of the conversation."""

    evaluation_id: str
    engagement_id: EngagementId
    campaign: CampaignName
    score: Score
    channel: Literal["voice", "chat", "voice_bot"]
    duration_seconds: Count
    test: NotRequired[TestMark]


class AudioTranscribed(TypedDict):
    """A recording is transcribed; `confidence` is the mean of the engine, if it has one."""

    audio_file_id: str
    engagement_id: EngagementId
    campaign: CampaignName
    language: str | None
    duration_seconds: Count
    segment_count: Count
    confidence: Share | None
    test: NotRequired[TestMark]


class AudioProcessed(TypedDict):
    """A recording is transcribed and evaluated."""

    audio_file_id: str
    evaluation_id: str
    engagement_id: EngagementId
    campaign: CampaignName
    score: Score
    duration_seconds: Count
    test: NotRequired[TestMark]


class VoiceCallCompleted(TypedDict):
    """A voice bot call has ended; times and duration are null if the source has none."""

    voice_call_id: str
    engagement_id: EngagementId
    campaign: CampaignName
    status: Literal["completed", "no_answer", "busy", "failed", "canceled", "voicemail"]
    end_reason: str | None
    direction: Literal["inbound", "outbound", "unknown"]
    duration_seconds: Count | None
    started_at: Timestamp | None
    ended_at: Timestamp | None
    transferred: bool
    test: NotRequired[TestMark]


class ExportReady(TypedDict):
    """An export can be downloaded until `expires_at`."""

    job_id: str
    dataset: str
    format: Literal["csv", "json", "jsonl", "xlsx", "parquet"]
    row_count: Count
    file_size_bytes: Count
    expires_at: Timestamp
    test: NotRequired[TestMark]


class UsageQuotaWarning(TypedDict):
    """Usage has reached the threshold; published once for each metric and billing period."""

    billing_period: Period
    metric: Literal["calls", "webhooks", "storage_gb"]
    used: Amount
    included: Amount
    percent: Amount
    threshold_percent: Amount
    test: NotRequired[TestMark]


class ApiKeyRotated(TypedDict):
    """A key is rotated; the previous strings end at once if their time is null."""

    key_id: str
    name: str
    rotated_at: Timestamp
    previous_credential_expires_at: Timestamp | None
    test: NotRequired[TestMark]


EventData = (
    EvaluationCompleted
    | AudioTranscribed
    | AudioProcessed
    | VoiceCallCompleted
    | ExportReady
    | UsageQuotaWarning
    | ApiKeyRotated
)
