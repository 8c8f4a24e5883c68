"""The tables of calibration: profiles, written once, and which of them was switched on when."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class CalibrationProfile(Table):
    """One version of an engagement's calibration: written once, never changed.

    `engine` is the engine whose judgements it was fitted to; it is of no use for another's.
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
    """From `at` on this version is the active one, or none; the last row of an engagement counts."""

    __tablename__ = "calibration_switches"
    __table_args__ = (Index("ix_calibration_switches_engagement", "engagement_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    engagement_id: Mapped[str] = mapped_column(ForeignKey("engagements.id"))
    version: Mapped[int | None]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
