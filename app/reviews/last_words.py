"""What each reviewer stands for in the end: of several reviews of one conversation the last word."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation
from app.reviews.models import Review

_OF = Review.__table__.c
_NOTHING = (None, None, None)


@dataclass(slots=True)
class Opinion:
    """One reviewer on one evaluation, beside what the engine had said of it.

    `ratings` is that of `models.Review`; the three others are None where nothing was said.
    """

    evaluation_id: str
    rater: str
    judged: Mapping[str, Any]
    ratings: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    resolution: str | None = None
    satisfaction: float | None = None


def last_words(session: Session, wanted: Iterable[ColumnElement[bool]]) -> list[Opinion]:
    """Return every reviewer's opinion of each evaluation, in the order of the first reviews.

    Args:
        wanted: what a row of `Evaluation` has to meet.
    """
    rows = session.execute(
        select(
            _OF.evaluation_id,
            _OF.rater,
            _OF.ratings,
            _OF.rated_score,
            _OF.resolution,
            _OF.satisfaction,
            _OF.judged,
        )
        .join(Evaluation, Evaluation.id == _OF.evaluation_id)
        .where(*wanted)
        .order_by(_OF.created_at, _OF.id)
    )
    found: dict[tuple[str, str], Opinion] = {}
    for row in rows:
        if not row.ratings and (row.rated_score, row.resolution, row.satisfaction) == _NOTHING:
            continue
        key = (row.evaluation_id, row.rater)
        opinion = found.setdefault(key, Opinion(*key, judged=row.judged))
        opinion.ratings.update(row.ratings)
        opinion.score = _later(row.rated_score, opinion.score)
        opinion.resolution = _later(row.resolution, opinion.resolution)
        opinion.satisfaction = _later(row.satisfaction, opinion.satisfaction)
    return list(found.values())


def _later(said: Any, before: Any) -> Any:
    return before if said is None else said
