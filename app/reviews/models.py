"""The table of reviews: rows are added, never changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class Review(Table):
    """One review of one revision.

    `rater` tells reviewers apart: their reference where they have one, else their name.
    `criteria` is what was given, in the shape of the API. `ratings` maps the key of a criterion to
    what the engine and the reviewer say of it, of every criterion that the reviewer stands for;
    `rated_score` is the score that the reviewer gives or that follows from these, and `judged`
    holds the engine's score, resolution and satisfaction beside it.
    """

    __tablename__ = "reviews"
    __table_args__ = (Index("ix_reviews_evaluation", "evaluation_id", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"))
    revision: Mapped[int]
    action: Mapped[str]
    reviewer: Mapped[str]
    reviewer_ref: Mapped[str | None]
    rater: Mapped[str]
    reason: Mapped[str | None]
    criteria: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    confirms_others: Mapped[bool]
    score: Mapped[int | None]
    resolution: Mapped[str | None]
    satisfaction: Mapped[float | None]
    status_before: Mapped[str]
    status_after: Mapped[str]
    score_before: Mapped[int]
    score_after: Mapped[int]
    ratings: Mapped[dict[str, Any]] = mapped_column(JSON)
    rated_score: Mapped[float | None]
    judged: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
