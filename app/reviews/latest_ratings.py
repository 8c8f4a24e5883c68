"""Latest ratings: of several reviews of one evaluation by one reviewer, the latest value of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation
from app.reviews.models import Review

_COLUMNS = Review.__table__.c
_NOT_GIVEN = (None, None, None)


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
