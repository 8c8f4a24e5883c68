"""The tables of an organisation's own scorecards; the defaults are files that ship."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Table, UtcDateTime


class StoredScorecard(Table):
    """One scorecard; `current_version` is the version that new evaluations use."""

    __tablename__ = "scorecards"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]
    channel: Mapped[str] = mapped_column(index=True)
    current_version: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ScorecardVersion(Table):
    """One version: written once, never changed."""

    __tablename__ = "scorecard_versions"

    scorecard_id: Mapped[str] = mapped_column(ForeignKey("scorecards.id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
