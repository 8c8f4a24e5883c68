"""Catalogue of events: each type with its data, its description and an example."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from app.core.clock import iso_utc


class EventType(StrEnum):
    """Event types that a webhook can subscribe to."""

    EVALUATION_COMPLETED = "evaluation.completed"
    AUDIO_TRANSCRIBED = "audio.transcribed"
    AUDIO_PROCESSED = "audio.processed"
    VOICE_CALL_COMPLETED = "voice-call.completed"
    EXPORT_READY = "export.ready"
    USAGE_QUOTA_WARNING = "usage.quota_warning"
    API_KEY_ROTATED = "api-key.rotated"
    CONVERSATION_FAILED = "conversation.failed"
    EVALUATION_REVIEWED = "evaluation.reviewed"


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
)


_EVALUATION = "eval_01k9zq4v2me8wb7xq3s5ndt6ha"
_ENGAGEMENT = "eng_01k9zq3s7vf0mb5e2wd8yhx4cn"
_AUDIO = "aud_01k9zq4d0sfy2r8m6jx1vwq3bt"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """Description, data type and sample of one event type."""

    description: str
    data_type: type
    sample: EventData


CATALOGUE: Mapping[EventType, CatalogueEntry] = {
    EventType.EVALUATION_COMPLETED: CatalogueEntry(
        "An evaluation has finished AI processing.",
        EvaluationCompleted,
        EvaluationCompleted(
            evaluation_id=_EVALUATION,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            score=87,
            channel="voice",
            duration_seconds=312,
        ),
    ),
    EventType.AUDIO_TRANSCRIBED: CatalogueEntry(
        "A recording has been transcribed.",
        AudioTranscribed,
        AudioTranscribed(
            audio_file_id=_AUDIO,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            language="en",
            duration_seconds=312,
            segment_count=46,
            confidence=0.93,
        ),
    ),
    EventType.AUDIO_PROCESSED: CatalogueEntry(
        "A recording has been transcribed and evaluated.",
        AudioProcessed,
        AudioProcessed(
            audio_file_id=_AUDIO,
            evaluation_id=_EVALUATION,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            score=87,
            duration_seconds=312,
        ),
    ),
    EventType.VOICE_CALL_COMPLETED: CatalogueEntry(
        "A call of a voice bot has ended.",
        VoiceCallCompleted,
        VoiceCallCompleted(
            voice_call_id="call_01k9zq5b9hf3ktr6c0wnxs2v7e",
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            status="completed",
            end_reason="goal_reached",
            direction="inbound",
            duration_seconds=94,
            started_at="2026-11-21T09:30:00.000Z",
            ended_at="2026-11-21T09:31:34.000Z",
            transferred=False,
        ),
    ),
    EventType.EXPORT_READY: CatalogueEntry(
        "An export job has written its file.",
        ExportReady,
        ExportReady(
            job_id="exp_01k9zq6n4xe9dv1s8t5hbqw3ym",
            dataset="evaluations",
            format="csv",
            row_count=1250,
            file_size_bytes=418304,
            expires_at="2026-11-28T09:30:00.000Z",
        ),
    ),
    EventType.USAGE_QUOTA_WARNING: CatalogueEntry(
        "Usage has reached 80 % of what the plan includes.",
        UsageQuotaWarning,
        UsageQuotaWarning(
            billing_period="2026-11",
            metric="calls",
            used=800000,
            included=1000000,
            percent=80,
            threshold_percent=80,
        ),
    ),
    EventType.API_KEY_ROTATED: CatalogueEntry(
        "An API key has been given new credentials.",
        ApiKeyRotated,
        ApiKeyRotated(
            key_id="key_01k9zq7c2weqa5r1m9v3xtbf8d",
            name="warehouse sync",
            rotated_at="2026-11-21T09:30:00.000Z",
            previous_credential_expires_at="2026-11-22T09:30:00.000Z",
        ),
    ),
    EventType.CONVERSATION_FAILED: CatalogueEntry(
        "A recording, an evaluation or a whole import has failed.",
        ConversationFailed,
        ConversationFailed(
            source_type="audio_file",
            source_id=_AUDIO,
            evaluation_id=_EVALUATION,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            code="TRANSCRIPTION_FAILED",
            message="The recording could not be transcribed.",
        ),
    ),
    EventType.EVALUATION_REVIEWED: CatalogueEntry(
        "A person has confirmed, changed or disputed a judgement.",
        EvaluationReviewed,
        EvaluationReviewed(
            evaluation_id=_EVALUATION,
            review_id="rev_01k9zr2c8fhj1n4q7t0vxz3b6d",
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            action="override",
            review_status="reviewed",
            score_before=87,
            score=81,
        ),
    ),
}


def envelope(
    *, event_id: str, event: EventType, occurred_at: datetime, data: Mapping[str, object]
) -> dict[str, object]:
    """Return the body of an event as a receiver gets it."""
    return {"id": event_id, "event": event, "timestamp": iso_utc(occurred_at), "data": data}


def sample_of(event: EventType) -> EventData:
    """Return the data of a test delivery: the sample with `test: true`."""
    marked: Any = {**CATALOGUE[event].sample, "test": True}
    return cast(EventData, marked)  # `test` is an optional key of every type


def example_of(event: EventType) -> dict[str, object]:
    """Return an example of the body of an event."""
    return {
        "id": "evt_01k9zq8h3dfm6w0y4b7nxs1vqe",
        "event": event.value,
        "timestamp": "2026-11-21T09:30:00.000Z",
        "data": dict(CATALOGUE[event].sample),
    }
