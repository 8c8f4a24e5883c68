"""Tables of voice calls and their turns."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime, first_known, partial_index
from app.core.database.upserts import ExternallyKeyed
from app.evaluations.enums import Channel

_OPTIONAL_JSON = JSON(none_as_null=True)
# Columns that lists filter by in any combination. Every index contains them, so that a filtered
# count reads only the index.
_FACETS = (
    *("status", "direction", "outcome"),
    *("transferred_to_human", "recording_id", "score"),
)


class VoiceCall(ExternallyKeyed):
    """A call of a voice bot or, in the channel `voice`, of people.

    `digest` is the hash of all given values, `judged_digest` of the values that the newest
    evaluation depends on. `awaits_words`: the call is evaluated once its recording has a
    transcript. `announced_at` is the time of its event `voice-call.completed`. `evaluation_id` and
    `score` belong to the current evaluation. `redacted` tells whether the turns are masked;
    `raw_text_id` refers to their sealed originals.
    """

    __tablename__ = "voice_calls"
    __table_args__ = (
        Index("ix_voice_calls_conversation", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_created", "created_at", "id"),
        Index("ix_voice_calls_engagement", "engagement_id", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_campaign", "campaign_id", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_call_center", "call_center_id", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_executive", "executive_id", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_bot", "bot_id", "conversation_at", "id", *_FACETS),
        Index("ix_voice_calls_recording", "recording_id"),
        Index("ix_voice_calls_started", "started_at", "id"),
        Index("ix_voice_calls_duration", "duration_seconds", "id"),
        Index("ix_voice_calls_score", "score", "id"),
        partial_index("ix_voice_calls_kept", "conversation_at", "id", where="erased_at IS NULL"),
        partial_index(
            "ix_voice_calls_unevaluated", "conversation_at", where="evaluation_id IS NULL"
        ),
    )

    engagement_id: Mapped[str | None] = mapped_column(ForeignKey("engagements.id"))
    campaign_id: Mapped[str | None]
    call_center_id: Mapped[str | None]
    executive_id: Mapped[str | None]
    bot_id: Mapped[str | None]
    bot_name: Mapped[str | None]
    bot_version: Mapped[str | None]
    channel: Mapped[str] = mapped_column(default=Channel.VOICE_BOT)
    direction: Mapped[str]
    from_number: Mapped[str | None]
    to_number: Mapped[str | None]
    status: Mapped[str]
    end_reason: Mapped[str | None]
    ended_by: Mapped[str | None]
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    conversation_at: Mapped[datetime] = mapped_column(
        UtcDateTime, default=first_known("started_at", "created_at")
    )
    answered_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    duration_seconds: Mapped[int | None]
    ring_seconds: Mapped[int | None]
    language: Mapped[str | None]
    recording_id: Mapped[str | None] = mapped_column(ForeignKey("audio_files.id"))
    has_transcript: Mapped[bool] = mapped_column(default=False)
    outcome: Mapped[str]
    transferred_to_human: Mapped[bool]
    latency_ms: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
    interruptions_by_customer: Mapped[int | None]
    interruptions_by_bot: Mapped[int | None]
    fallback_count: Mapped[int | None]
    collected_fields: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    evaluation_id: Mapped[str | None]
    score: Mapped[int | None]
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    digest: Mapped[str]
    judged_digest: Mapped[str | None]
    awaits_words: Mapped[bool] = mapped_column(default=False)
    announced_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    redacted: Mapped[bool] = mapped_column(default=False)
    raw_text_id: Mapped[str | None]
    erased_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class VoiceCallTurns(Table):
    """Turns of a call as given by the source: role, text, start_ms, end_ms, and words if given.

    The texts are masked, and `redactions` lists where. `digest` is the hash of the given turns.
    """

    __tablename__ = "voice_call_turns"

    voice_call_id: Mapped[str] = mapped_column(ForeignKey("voice_calls.id"), primary_key=True)
    turns: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    digest: Mapped[str]


class VoiceCallSearchText(Table):
    """Case-folded text that `q` searches; a separate narrow table, since a search reads every row."""

    __tablename__ = "voice_call_search_texts"

    voice_call_id: Mapped[str] = mapped_column(ForeignKey("voice_calls.id"), primary_key=True)
    text: Mapped[str]
