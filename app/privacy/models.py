"""Table of erasures."""

from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.jobs.leases import LeasedJob


class Erasure(LeasedJob):
    """One request to erase a customer; the reference is deleted when the erasure ends.

    `counts` is the number of erased records by type.
    """

    kind = "erasures"
    __tablename__ = "erasures"
    __table_args__ = (Index("ix_erasures_due", "state", "priority", "queued_at", "id"),)

    customer_ref: Mapped[str | None]
    counts: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    requested_by: Mapped[str]
