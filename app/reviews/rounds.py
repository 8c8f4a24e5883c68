"""Ratings by reviewer: the latest of each, and those sealed in open calibration rounds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation
from app.reviews.models import CalibrationRound, Review

_COLUMNS = Review.__table__.c
_NOT_GIVEN = (None, None, None)
# A round that somebody never completes does not seal ratings for ever.
SEALED_FOR = timedelta(days=30)
# Actions that tell others nothing while their review is sealed.
_BLIND_ACTIONS = (ReviewAction.REQUEST, ReviewAction.START, ReviewAction.COMMENT)


@dataclass(slots=True)
class LatestRatings:
    """Ratings of one evaluation by one reviewer, with the judge's values in `judged`.

    `ratings` is that of `models.Review`. The three other values are None if none was given.
    """

    evaluation_id: str
    rater: str
    judged: Mapping[str, Any]
    ratings: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    resolution: str | None = None
    satisfaction: float | None = None


def latest_ratings(
    session: Session, conditions: Iterable[ColumnElement[bool]]
) -> list[LatestRatings]:
    """Return the latest ratings of every reviewer and evaluation, in the order of first reviews.

    Args:
        conditions: on `Evaluation` and `Review`.
    """
    rows = session.execute(
        select(
            _COLUMNS.evaluation_id,
            _COLUMNS.rater,
            _COLUMNS.ratings,
            _COLUMNS.rated_score,
            _COLUMNS.resolution,
            _COLUMNS.satisfaction,
            _COLUMNS.judged,
        )
        .join(Evaluation, Evaluation.id == _COLUMNS.evaluation_id)
        .where(*conditions)
        .order_by(_COLUMNS.created_at, _COLUMNS.id)
    )
    by_rater: dict[tuple[str, str], LatestRatings] = {}
    for row in rows:
        if not row.ratings and (row.rated_score, row.resolution, row.satisfaction) == _NOT_GIVEN:
            continue
        key = (row.evaluation_id, row.rater)
        latest = by_rater.setdefault(key, LatestRatings(*key, judged=row.judged))
        latest.ratings.update(row.ratings)
        if row.rated_score is not None:
            latest.score = row.rated_score
        if row.satisfaction is not None:
            latest.satisfaction = row.satisfaction
        latest.resolution = row.resolution or latest.resolution
    return list(by_rater.values())


def ratings_in(session: Session, row: CalibrationRound) -> list[LatestRatings]:
    """Return what the people of a round have rated since it was created."""
    return latest_ratings(session, [reviews_in(row)])


def reviews_in(row: CalibrationRound) -> ColumnElement[bool]:
    """Match the reviews that the people of a round have given in it."""
    return and_(
        Review.evaluation_id.in_(row.evaluation_ids),
        Review.rater.in_([reviewer.casefold() for reviewer in row.reviewers]),
        Review.created_at >= row.created_at,
    )


def open_rounds(session: Session, evaluation_id: str | None = None) -> list[CalibrationRound]:
    """Return the rounds whose ratings are sealed.

    Args:
        evaluation_id: only rounds with this conversation; by default all.
    """
    recent = select(CalibrationRound).where(CalibrationRound.created_at > utc_now() - SEALED_FOR)
    return [
        row
        for row in session.scalars(recent)
        if evaluation_id in (None, *row.evaluation_ids)
        and len(ratings_in(session, row)) < len(row.evaluation_ids) * len(row.reviewers)
    ]


def sealed_reviews(session: Session, evaluation_id: str) -> Sequence[str]:
    """Return the ids of the sealed reviews of an evaluation."""
    matches = [reviews_in(row) for row in open_rounds(session, evaluation_id)]
    if not matches:
        return ()
    sealed = select(Review.id).where(Review.evaluation_id == evaluation_id, or_(*matches))
    return session.scalars(sealed).all()


def require_blind(session: Session, evaluation_id: str, rater: str, action: ReviewAction) -> None:
    """Raise `Conflict` if a review would show others how a person of an open round has rated."""
    if action in _BLIND_ACTIONS:
        return
    for row in open_rounds(session, evaluation_id):
        if rater in {reviewer.casefold() for reviewer in row.reviewers}:
            message = f"The calibration round {row.name!r} is open: rate with the action comment."
            raise Conflict(message)
