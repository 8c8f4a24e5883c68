"""Catalogue of events: each type with its data, its description and an example."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from app.core.clock import iso_utc
from app.events.data import (
    ApiKeyRotated,
    AudioProcessed,
    AudioTranscribed,
    ConversationFailed,
    DisputeDecided,
    EvaluationAcknowledged,
    EvaluationCompleted,
    EvaluationDisputed,
    EvaluationReviewed,
    EventData,
    ExportReady,
    UsageQuotaWarning,
    VoiceCallCompleted,
)
from app.events.messages import SAMPLE_ALERT, SAMPLE_DIGEST, SentMessage


class EventType(StrEnum):
    EVALUATION_COMPLETED = "evaluation.completed"
    AUDIO_TRANSCRIBED = "audio.transcribed"
    AUDIO_PROCESSED = "audio.processed"
    VOICE_CALL_COMPLETED = "voice-call.completed"
    EXPORT_READY = "export.ready"
    USAGE_QUOTA_WARNING = "usage.quota_warning"
    API_KEY_ROTATED = "api-key.rotated"
    CONVERSATION_FAILED = "conversation.failed"
    EVALUATION_REVIEWED = "evaluation.reviewed"
    EVALUATION_ACKNOWLEDGED = "evaluation.acknowledged"
    EVALUATION_DISPUTED = "evaluation.disputed"
    DISPUTE_DECIDED = "evaluation.dispute_decided"
    ALERT_RAISED = "alert.raised"
    DIGEST_SENT = "digest.sent"


_EVALUATION = "eval_01k9zq4v2me8wb7xq3s5ndt6ha"
_ENGAGEMENT = "eng_01k9zq3s7vf0mb5e2wd8yhx4cn"
_REVIEW = "rev_01k9zr2c8fhj1n4q7t0vxz3b6d"
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
            review_id=_REVIEW,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            action="override",
            review_status="reviewed",
            score_before=87,
            score=81,
        ),
    ),
    EventType.EVALUATION_ACKNOWLEDGED: CatalogueEntry(
        "An agent has acknowledged an evaluation.",
        EvaluationAcknowledged,
        EvaluationAcknowledged(
            evaluation_id=_EVALUATION,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            revision=1,
            user_id="user_01k9zr5e0bqk3m6s9v2yac4f7h",
        ),
    ),
    EventType.EVALUATION_DISPUTED: CatalogueEntry(
        "A judgement is disputed.",
        EvaluationDisputed,
        EvaluationDisputed(
            evaluation_id=_EVALUATION,
            review_id=_REVIEW,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            criteria=["opening.greeting"],
        ),
    ),
    EventType.DISPUTE_DECIDED: CatalogueEntry(
        "A dispute is accepted or rejected.",
        DisputeDecided,
        DisputeDecided(
            evaluation_id=_EVALUATION,
            review_id=_REVIEW,
            engagement_id=_ENGAGEMENT,
            campaign="Spring support",
            decision="accepted",
            score_before=81,
            score=87,
        ),
    ),
    EventType.ALERT_RAISED: CatalogueEntry(
        "A rule of alerts has something to say.", SentMessage, SAMPLE_ALERT
    ),
    EventType.DIGEST_SENT: CatalogueEntry(
        "A digest is sent to a person.", SentMessage, SAMPLE_DIGEST
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
    return {
        "id": "evt_01k9zq8h3dfm6w0y4b7nxs1vqe",
        "event": event.value,
        "timestamp": "2026-11-21T09:30:00.000Z",
        "data": dict(CATALOGUE[event].sample),
    }
