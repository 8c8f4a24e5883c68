"""Tables of analytics: facts, score layouts, the registry of parts, export jobs, calibration rounds."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime, partial_index
from app.core.jobs.leases import LeasedJob


class EvaluationFact(Table):
    """The current evaluation of one source: what analytics aggregates, and nothing else.

    `scores` lists the scores, 0 to 100, of the criteria and then of the sections that the score
    layout names, null where one did not apply. `part` is the month whose part has a row of this
    fact. `is_pending` says that the part does not have the fact as it is now; `version` grows with
    every change.
    """

    __tablename__ = "evaluation_facts"
    __table_args__ = (
        partial_index(
            "ix_evaluation_facts_pending",
            "conversation_at",
            where="is_pending",
            sqlite_where="is_pending = 1",
        ),
        Index("ix_evaluation_facts_part", "part"),
        Index("ix_evaluation_facts_campaign", "campaign_id", "conversation_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[str] = mapped_column(unique=True)
    source_type: Mapped[str]
    evaluation_id: Mapped[str]
    status: Mapped[str]
    channel: Mapped[str]
    engagement_id: Mapped[str | None]
    campaign_id: Mapped[str | None]
    call_center_id: Mapped[str | None]
    executive_id: Mapped[str | None]
    scorecard_id: Mapped[str]
    conversation_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    score: Mapped[int | None]
    passed: Mapped[bool | None]
    auto_failed: Mapped[bool]
    compliance_score: Mapped[float | None]
    customer_sentiment: Mapped[float | None]
    sentiment_trend: Mapped[str | None]
    resolution: Mapped[str | None]
    duration_seconds: Mapped[int | None]
    talk_ratio: Mapped[float | None]
    silence_percent: Mapped[float | None]
    dead_air_count: Mapped[int | None]
    interruptions: Mapped[int | None]
    agent_wpm: Mapped[float | None]
    first_response_seconds: Mapped[float | None]
    topics: Mapped[list[str]] = mapped_column(JSON)
    score_layout_id: Mapped[int | None]
    scores: Mapped[list[float | None]] = mapped_column(JSON)
    version: Mapped[int] = mapped_column(default=1)
    is_pending: Mapped[bool] = mapped_column(default=True)
    part: Mapped[str | None]


class ScoreLayout(Table):
    """Criteria and sections that the `scores` of facts are of, in their order.

    Each entry of `columns` has a `kind` (criterion or section), `key`, `title` and `section`.
    """

    __tablename__ = "score_layouts"

    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(unique=True)
    columns: Mapped[list[dict[str, str]]] = mapped_column(JSON)


class FactPart(Table):
    """The Parquet file with the facts of one month of `conversation_at`, such as `2026-11`, in UTC.

    A file never changes: an updated part is a new file under a new name.
    """

    __tablename__ = "evaluation_fact_parts"

    month: Mapped[str] = mapped_column(primary_key=True)
    file: Mapped[str]
    size_bytes: Mapped[int]
    row_count: Mapped[int]
    first_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ExportJob(LeasedJob):
    """One export: its request, its progress, and its file once that is complete.

    `object_id` names the stored file of the running or the last attempt; it may be downloaded only
    when the state is `succeeded`, and not after `expires_at`. `teams` are those that the requester
    is limited to, if any.
    """

    kind = "exports"
    __tablename__ = "export_jobs"
    __table_args__ = (
        Index("ix_export_jobs_due", "state", "priority", "queued_at", "id"),
        Index("ix_export_jobs_expires", "expires_at"),
    )

    dataset: Mapped[str]
    format: Mapped[str]
    request: Mapped[dict[str, Any]] = mapped_column(JSON)
    file_name: Mapped[str]
    created_by: Mapped[str]
    teams: Mapped[str | None]
    object_id: Mapped[str | None]
    progress: Mapped[int] = mapped_column(default=0)
    row_count: Mapped[int | None]
    file_size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
