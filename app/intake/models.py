"""Tables of intake: sources that are switched on, and what they have sent."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime
from app.core.jobs.leases import LeasedJob


class IntakeSource(Table):
    """A source that was switched on; `sealed_config` are its settings, with the secrets.

    `defaults` are those of its records, as of an import. `refused_at` and `refusal` describe the
    latest request with a wrong signature, noted at most every few seconds.
    """

    __tablename__ = "intake_sources"

    name: Mapped[str] = mapped_column(primary_key=True)
    active: Mapped[bool]
    sealed_config: Mapped[str]
    defaults: Mapped[dict[str, Any]] = mapped_column(JSON)
    refused_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    refusal: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class IntakeDelivery(LeasedJob):
    """One request of a source; `digest` is that of its signature and its body, so that none counts twice.

    `sealed_body` is encrypted, because its texts are not masked yet, and deleted when the record is
    stored. `outcome` is that of the record, `external_id` its key.
    """

    kind = "intake"
    __tablename__ = "intake_deliveries"
    __table_args__ = (
        Index("ix_intake_deliveries_due", "state", "priority", "queued_at", "id"),
        Index("uq_intake_deliveries_digest", "source", "digest", unique=True),
        Index("ix_intake_deliveries_source", "source", "queued_at", "id"),
        Index("ix_intake_deliveries_completed", "completed_at", "id"),
    )

    source: Mapped[str]
    digest: Mapped[str]
    sealed_body: Mapped[str | None]
    outcome: Mapped[str | None]
    external_id: Mapped[str | None]
