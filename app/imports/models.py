"""Tables of imports over the API, and of presets of columns that are kept."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime
from app.core.jobs.leases import LeasedJob


class Import(LeasedJob):
    """One import; its counts are the checkpoint from which a worker continues.

    `sealed_documents` are the documents, `{"content", "externalId"}` each. They are encrypted because
    their texts are not masked yet, and deleted when the import ends; those of a dry run an hour later.
    An import of an uploaded file has the id of the stored file instead, and the file's name.
    `error` says why the import as a whole failed, `errors` why single records failed.
    """

    kind = "imports"
    __tablename__ = "imports"
    __table_args__ = (
        Index("ix_imports_due", "state", "priority", "queued_at", "id"),
        Index("ix_imports_completed", "completed_at", "id"),
    )

    format: Mapped[str]
    sealed_documents: Mapped[str | None]
    file_id: Mapped[str | None]
    file_name: Mapped[str | None]
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    received: Mapped[int] = mapped_column(default=0)
    created: Mapped[int] = mapped_column(default=0)
    updated: Mapped[int] = mapped_column(default=0)
    skipped: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    evaluations_queued: Mapped[int] = mapped_column(default=0)
    errors: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)


class ImportPreset(Table):
    """Columns and roles of the tables of one source, kept under a name; as options of imports."""

    __tablename__ = "import_presets"

    name: Mapped[str] = mapped_column(primary_key=True)
    columns: Mapped[dict[str, str]] = mapped_column(JSON)
    roles: Mapped[dict[str, str]] = mapped_column(JSON)
    timezone: Mapped[str | None]
    platform: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
