"""The table of erasures."""

from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.jobs.leases import LeasedJob


class Erasure(LeasedJob):
    """One request to erase a customer; the reference goes when the work has ended.

    `counts` maps what was erased to how many of it.
    """

    __tablename__ = "erasures"
    __table_args__ = (Index("ix_erasures_due", "state", "priority", "queued_at", "id"),)

    customer_ref: Mapped[str | None]
    counts: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    requested_by: Mapped[str]
