"""Tables of reviews, calibration rounds, calibration profiles with their activations, and review plans.

Rows of reviews and of calibration are added and never changed, except that texts are erased and
examples revoked.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.records import SetUp
from app.core.database.session import Table, UtcDateTime


class Review(Table):
    """One review of one revision.

    `rater` identifies the reviewer: the reference if one was given, else the name. `criteria` is
    what was given, as the API shows it. `ratings` maps the key of each criterion that the reviewer
    rated to the judge's value and the reviewer's. `rated_score` is the score that the reviewer
    gave or that follows from these ratings; `judged` holds the judge's score, resolution and
    satisfaction. `addressee_id` is the account that a dispute is addressed to, if it names one.
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
    addressee_id: Mapped[str | None]
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


class ReviewExample(Table):
    """A line that an override has shown to be of a `kind`, or only to look like it where `counts` is false.

    It is deleted with the words of its conversation. The newest in use for the same words counts.
    """

    __tablename__ = "review_examples"
    __table_args__ = (
        Index("ix_review_examples_engagement", "engagement_id", "created_at"),
        Index("ix_review_examples_evaluation", "evaluation_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    engagement_id: Mapped[str] = mapped_column(ForeignKey("engagements.id"))
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"))
    criterion_key: Mapped[str]
    kind: Mapped[str]
    counts: Mapped[bool]
    text: Mapped[str]
    reviewer: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class CalibrationRound(Table):
    """Conversations that several people rate without seeing each other's answers.

    `reviewers` holds the reference of each person, or the name, as reviews give it.
    """

    __tablename__ = "calibration_rounds"
    __table_args__ = (Index("ix_calibration_rounds_created", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    evaluation_ids: Mapped[list[str]] = mapped_column(JSON)
    reviewers: Mapped[list[str]] = mapped_column(JSON)
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


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


class ReviewPlan(SetUp):
    """A plan that gives reviewers a random share of each agent's conversations every week.

    `filters` are those of the list of evaluations. `reviewers` holds ids of people and their shares.
    `teams` are those that its author is limited to, if any. `drawn_week` is the day of the last draw.
    """

    __tablename__ = "review_plans"

    filters: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    per_agent: Mapped[int | None]
    percent: Mapped[float | None]
    minimum: Mapped[int] = mapped_column(default=1)
    reviewers: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    blind: Mapped[bool] = mapped_column(default=False)
    due_days: Mapped[int]
    weekday: Mapped[int]
    timezone: Mapped[str]
    seed: Mapped[int]
    teams: Mapped[str | None]
    drawn_week: Mapped[str | None]


class ReviewDraw(Table):
    """One draw of a plan: the seed, and of each agent how many it was drawn from."""

    __tablename__ = "review_draws"
    __table_args__ = (Index("uq_review_draws_week", "plan_id", "week", unique=True),)

    id: Mapped[str] = mapped_column(primary_key=True)
    plan_id: Mapped[str] = mapped_column(ForeignKey("review_plans.id"))
    week: Mapped[str]
    seed: Mapped[str]
    counts: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    drawn_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ReviewAssignment(Table):
    """A conversation that a plan gave to a reviewer; a plan gives each conversation once."""

    __tablename__ = "review_assignments"
    __table_args__ = (
        Index("uq_review_assignments_source", "plan_id", "source_id", unique=True),
        Index("ix_review_assignments_reviewer", "reviewer_id", "state", "due_at", "id"),
        Index("ix_review_assignments_source", "source_id"),
        Index("ix_review_assignments_due", "state", "due_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    plan_id: Mapped[str] = mapped_column(ForeignKey("review_plans.id"))
    plan: Mapped[str]
    week: Mapped[str]
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"))
    source_id: Mapped[str]
    executive_id: Mapped[str]
    executive: Mapped[str]
    reviewer_id: Mapped[str]
    blind: Mapped[bool]
    state: Mapped[str]
    reason: Mapped[str | None]
    starts_at: Mapped[datetime] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    done_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
