"""Calibration rounds: the ratings given in them, and what is sealed until all have rated."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.evaluations.enums import ReviewAction, Status
from app.evaluations.models import Evaluation
from app.reviews.models import CalibrationRound, Review
from app.reviews.ratings import LatestRatings, latest_ratings

# A round that somebody never completes does not seal ratings for ever.
SEALED_FOR = timedelta(days=30)
# Actions that tell others nothing while their review is sealed.
_BLIND_ACTIONS = (ReviewAction.REQUEST, ReviewAction.START, ReviewAction.COMMENT)


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


def reviewable_ids(session: Session, evaluation_ids: Sequence[str]) -> set[str]:
    """Return the evaluations of these that can be rated: completed ones that none replaces."""
    return set(
        session.scalars(
            select(Evaluation.id).where(
                Evaluation.id.in_(evaluation_ids),
                Evaluation.status == Status.COMPLETED,
                Evaluation.is_current.is_not(False),
            )
        )
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
        if evaluation_id in (None, *row.evaluation_ids) and not _is_complete(session, row)
    ]


def _is_complete(session: Session, row: CalibrationRound) -> bool:
    rated = {(rating.evaluation_id, rating.rater) for rating in ratings_in(session, row)}
    return all(
        (evaluation_id, reviewer.casefold()) in rated
        for evaluation_id in reviewable_ids(session, row.evaluation_ids)
        for reviewer in row.reviewers
    )


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
