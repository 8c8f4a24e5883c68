"""Tables of calibration: profiles, and the times at which one was activated."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class CalibrationProfile(Table):
    """One version of the calibration of an engagement. Rows never change.

    A profile applies only to judgements of `engine`, the engine that it was fitted to.
    """

    __tablename__ = "calibration_profiles"
    __table_args__ = (
        Index("uq_calibration_profiles_version", "engagement_id", "version", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    engagement_id: Mapped[str] = mapped_column(ForeignKey("engagements.id"))
    version: Mapped[int]
    engine: Mapped[dict[str, Any]] = mapped_column(JSON)
    label_source: Mapped[str]
    label_count: Mapped[int]
    figures: Mapped[dict[str, Any]] = mapped_column(JSON)
    model: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class CalibrationSwitch(Table):
    """The version that is active from `at` on, or none. The last row of an engagement applies."""

    __tablename__ = "calibration_switches"
    __table_args__ = (Index("ix_calibration_switches_engagement", "engagement_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    engagement_id: Mapped[str] = mapped_column(ForeignKey("engagements.id"))
    version: Mapped[int | None]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
