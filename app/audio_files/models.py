"""Tables of recordings and their processing jobs."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.audio_files.enums import AudioStatus
from app.core.database.counters import Total
from app.core.database.session import Table, UtcDateTime, first_known, partial_index
from app.core.jobs.leases import LeasedJob

_OPTIONAL_JSON = JSON(none_as_null=True)


class AudioFile(Table):
    """A recording; its file is stored under its id.

    `sha256` is the declared hash until the upload, and then the hash of the stored file. Values that
    decoding finds, such as `codec`, are null before. `expires_at` is the deadline of the upload.
    `purge_bytes`: the file is to be deleted after the commit. `original_deleted_at`: only the muted copy is
    kept since then. `scorecard_id`: the scorecard by which `auto_process` judges.
    """

    __tablename__ = "audio_files"
    __table_args__ = (
        Index("ix_audio_files_conversation", "conversation_at", "id"),
        Index("ix_audio_files_created", "created_at", "id"),
        Index("ix_audio_files_status", "status", "conversation_at", "id"),
        Index("ix_audio_files_engagement", "engagement_id", "conversation_at", "id"),
        Index("ix_audio_files_campaign", "campaign_id", "conversation_at", "id"),
        Index("ix_audio_files_call_center", "call_center_id", "conversation_at", "id"),
        Index("ix_audio_files_executive", "executive_id", "conversation_at", "id"),
        Index("ix_audio_files_recorded", "recorded_at", "id"),
        Index("ix_audio_files_duration", "duration_seconds", "id"),
        Index("ix_audio_files_size", "size_bytes", "id"),
        partial_index("ix_audio_files_kept", "conversation_at", "id", where="erased_at IS NULL"),
        partial_index("ix_audio_files_stored", "size_bytes", where="uploaded_at IS NOT NULL"),
        partial_index(
            "ix_audio_files_purge",
            "purge_bytes",
            where="purge_bytes",
            sqlite_where="purge_bytes = 1",
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    engagement_id: Mapped[str | None] = mapped_column(ForeignKey("engagements.id"))
    campaign_id: Mapped[str | None]
    call_center_id: Mapped[str | None]
    executive_id: Mapped[str | None]
    external_id: Mapped[str | None] = mapped_column(unique=True)
    file_name: Mapped[str]
    content_type: Mapped[str]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    duration_seconds: Mapped[int | None]
    sample_rate_hz: Mapped[int | None]
    channels: Mapped[int | None]
    codec: Mapped[str | None]
    channel_map: Mapped[dict[str, int] | None] = mapped_column(_OPTIONAL_JSON)
    direction: Mapped[str] = mapped_column(default="unknown")
    language: Mapped[str | None]
    detected_language: Mapped[str | None]
    status: Mapped[str] = mapped_column(default=AudioStatus.PENDING_UPLOAD)
    auto_process: Mapped[bool] = mapped_column(default=False)
    scorecard_id: Mapped[str | None]
    has_transcript: Mapped[bool] = mapped_column(default=False)
    recorded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    conversation_at: Mapped[datetime] = mapped_column(
        UtcDateTime, default=first_known("recorded_at", "created_at")
    )
    uploaded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    processed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    error: Mapped[dict[str, str] | None] = mapped_column(_OPTIONAL_JSON)
    search_text: Mapped[str]
    erased_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    purge_bytes: Mapped[bool] = mapped_column(default=False)
    original_deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class AudioFileTotal(Total):
    """The total size of the stored recordings, under the kind `stored bytes`."""

    __tablename__ = "audio_file_totals"


class ProcessingJob(LeasedJob):
    """One processing of a recording; at most one job of a recording is queued or running.

    `stages` maps stages to their records (see `processing.stages`). `transcribe`: the recording is
    transcribed, even if it has a transcript; `redact`: the transcript is masked.
    """

    kind = "recordings"
    __tablename__ = "processing_jobs"
    __table_args__ = (
        partial_index(
            "uq_processing_jobs_open",
            "audio_file_id",
            unique=True,
            where="state IN ('queued', 'running')",
        ),
        Index("ix_processing_jobs_audio_file", "audio_file_id", "queued_at", "id"),
        Index("ix_processing_jobs_due", "state", "priority", "queued_at", "id"),
    )

    audio_file_id: Mapped[str] = mapped_column(ForeignKey("audio_files.id"))
    evaluation_id: Mapped[str]
    scorecard_id: Mapped[str]
    scorecard_version: Mapped[int]
    transcribe: Mapped[bool]
    redact: Mapped[bool] = mapped_column(default=False)
    stage: Mapped[str]
    progress: Mapped[int] = mapped_column(default=0)
    stages: Mapped[dict[str, Any]] = mapped_column(JSON)


class WaveformJob(LeasedJob):
    """One drawing of a recording that was processed without a waveform; its id is the waveform's.

    Or the making of its muted copy, whose id it has then; `made_of` is the digest of what is silent.
    Or the joining of the two sides of a call, which waits for both; `customer_later_ms` is by how much
    the customer's side begins later.
    """

    kind = "waveforms"
    __tablename__ = "waveform_jobs"
    __table_args__ = (Index("ix_waveform_jobs_due", "state", "priority", "queued_at", "id"),)

    audio_file_id: Mapped[str] = mapped_column(ForeignKey("audio_files.id"))
    made_of: Mapped[str | None]
    customer_later_ms: Mapped[int | None]
