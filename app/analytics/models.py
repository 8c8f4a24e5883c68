"""The tables of analytics: a narrow fact for each evaluated contact, sums of facts, and exports."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime
from app.core.jobs.leases import LeasedJob


class Fact(Table):
    """The current evaluation of one source, as short as figures need it.

    `at` is its `createdAt` in microseconds, the time that lists of evaluations go by. Ids are
    codes (see `FactCode`). `figures` and `shares` are whole numbers of fixed width (see `figures.py`
    and `layouts.py`): the database joins those of many facts, and they are read in one piece.
    """

    __tablename__ = "evaluation_facts"
    __table_args__ = (
        Index("ix_evaluation_facts_at", "at"),
        Index("ix_evaluation_facts_executive", "executive", "at"),
        Index("ix_evaluation_facts_campaign", "campaign", "at"),
        Index("ix_evaluation_facts_call_center", "call_center", "at"),
        Index("ix_evaluation_facts_engagement", "engagement", "at"),
        Index("ix_evaluation_facts_scorecard", "scorecard", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger)
    channel: Mapped[int]
    layout: Mapped[int | None]
    executive: Mapped[int | None]
    campaign: Mapped[int | None]
    call_center: Mapped[int | None]
    engagement: Mapped[int | None]
    scorecard: Mapped[int]
    figures: Mapped[bytes] = mapped_column(LargeBinary)
    shares: Mapped[bytes] = mapped_column(LargeBinary)
    topics: Mapped[str]
    source_id: Mapped[str] = mapped_column(unique=True)
    evaluation_id: Mapped[str]


class FactCode(Table):
    """A small number that stands for an id in the facts."""

    __tablename__ = "evaluation_fact_codes"

    code: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)


class FactLayout(Table):
    """Which criteria and sections the `shares` of facts hold, in their order."""

    __tablename__ = "evaluation_fact_layouts"

    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(unique=True)
    lanes: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


class FactSpan(Table):
    """One hour, day, … whose facts are summed in cells (see `spans.py`).

    `id` says which one. `views` has the bit of every view that has cells here; they are good while
    the state is `READY`.
    """

    __tablename__ = "evaluation_fact_spans"
    __table_args__ = (Index("ix_evaluation_fact_spans_state", "state"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[int]
    views: Mapped[int] = mapped_column(default=0)


class FactCell(Table):
    """The sums of those facts of one span that agree in channel and member.

    What `member` is, the view says: an executive, a campaign, …, or nothing in particular. The
    other codes are filled in the view of all of them only. What the bytes hold: see `tallies.py`.
    """

    __tablename__ = "evaluation_fact_cells"
    __table_args__ = (Index("ix_evaluation_fact_cells_view", "view", "span", "member"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    view: Mapped[int]
    span: Mapped[int]
    member: Mapped[int | None]
    channel: Mapped[int]
    executive: Mapped[int | None]
    campaign: Mapped[int | None]
    call_center: Mapped[int | None]
    engagement: Mapped[int | None]
    scorecard: Mapped[int | None]
    last_ms: Mapped[int]
    sums: Mapped[bytes] = mapped_column(LargeBinary)
    scores: Mapped[bytes] = mapped_column(LargeBinary)
    waits: Mapped[bytes] = mapped_column(LargeBinary)
    topics: Mapped[bytes] = mapped_column(LargeBinary)
    shares: Mapped[bytes] = mapped_column(LargeBinary)


class ExportJob(LeasedJob):
    """One export: what was asked for, how far it is, and the file once it is whole.

    `object_id` names the stored file of the running or the last attempt; it is handed out only
    when the state is `succeeded`, and not after `expires_at`.
    """

    __tablename__ = "export_jobs"
    __table_args__ = (
        Index("ix_export_jobs_due", "state", "priority", "queued_at", "id"),
        Index("ix_export_jobs_expires", "expires_at"),
    )

    dataset: Mapped[str]
    format: Mapped[str]
    wish: Mapped[dict[str, Any]] = mapped_column(JSON)
    file_name: Mapped[str]
    created_by: Mapped[str]
    object_id: Mapped[str | None]
    progress: Mapped[int] = mapped_column(default=0)
    row_count: Mapped[int | None]
    file_size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
