"""The table of imports that came in over the API."""

from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.jobs.leases import LeasedJob


class Import(LeasedJob):
    """One import and how far it is; the counts are the checkpoint from which a worker goes on.

    `sealed_documents` is what came in, `{"content", "externalId"}` each, encrypted since nothing of
    it is masked yet; it goes when the work has ended.
    `error` says why the import as a whole failed, `errors` what was wrong with single records.
    """

    __tablename__ = "imports"
    __table_args__ = (
        Index("ix_imports_due", "state", "priority", "queued_at", "id"),
        Index("ix_imports_completed", "completed_at", "id"),
    )

    format: Mapped[str]
    sealed_documents: Mapped[str | None]
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    received: Mapped[int] = mapped_column(default=0)
    created: Mapped[int] = mapped_column(default=0)
    updated: Mapped[int] = mapped_column(default=0)
    skipped: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    evaluations_queued: Mapped[int] = mapped_column(default=0)
    errors: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
