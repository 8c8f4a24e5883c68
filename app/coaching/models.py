"""Tables of coaching sessions and goals."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.records import Recorded
from app.core.database.session import UtcDateTime


class CoachingSession(Recorded):
    """One talk of a coach with an agent about criteria of a scorecard.

    `evidence` lists evaluations, each with a quote or without. `call_center_id` is that of the agent
    when the session was made; it decides which leads see it.
    """

    __tablename__ = "coaching_sessions"
    __table_args__ = (Index("ix_coaching_sessions_executive", "executive_id", "at", "id"),)

    executive_id: Mapped[str]
    call_center_id: Mapped[str | None]
    coach: Mapped[str]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    scorecard_id: Mapped[str]
    criteria: Mapped[list[str]] = mapped_column(JSON)
    evidence: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    steps: Mapped[str | None]
    due: Mapped[datetime | None] = mapped_column(UtcDateTime)
    notes: Mapped[str | None]
    notes_for: Mapped[str]
    state: Mapped[str]


class Goal(Recorded):
    """A score to reach by a date: of an agent, or of a call centre where `executive_id` is null.

    Without a criterion it is the score of the whole evaluation. Scores are 0 to 100.
    """

    __tablename__ = "goals"
    __table_args__ = (Index("ix_goals_executive", "executive_id", "at", "id"),)

    executive_id: Mapped[str | None]
    call_center_id: Mapped[str | None]
    scorecard_id: Mapped[str | None]
    criterion: Mapped[str | None]
    start_value: Mapped[float]
    target: Mapped[float]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
