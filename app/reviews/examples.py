"""Examples that overrides give to the judge: learned, listed, revoked, and applied to an engagement."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.ids import new_id
from app.evaluations.models import Evaluation
from app.judge.acts.lessons import kind_named, kinds_of_rule
from app.judge.context import Lesson
from app.judge.dialogue.turns import Side
from app.judge.scorecard.values import Scorecard
from app.reviews.models import Review, ReviewExample
from app.reviews.ratings import Rating

# The newest count.
_MOST = 300
_COLUMNS = ReviewExample.__table__.c
_SORTABLE = {"created_at": _COLUMNS.created_at}
# What a judge who could not tell is taken to have answered.
_UNDECIDED = 0.5


def learn(
    session: Session,
    evaluation: Evaluation,
    review: Review,
    judged: Mapping[str, Any],
    ratings: Sequence[Rating],
    scorecard: Scorecard,
) -> None:
    """Keep the lines that an override shows to be something else than the judge took them for.

    Where the judge saw something that is not there, these are its quotes; where it missed something, those
    of the reviewer. The newest example for the same words counts.

    Args:
        judged: the results as the judge wrote them.
    """
    if evaluation.engagement_id is None:
        return
    before = {criterion["key"]: criterion for criterion in judged["criteria"]}
    for rating in ratings:
        criterion = scorecard.criterion(rating.key)
        for kind in kinds_of_rule(criterion.rule, criterion.parameters):
            counts, texts = _shown(kind, before[rating.key], rating)
            for text in dict.fromkeys(texts):
                _replace(session, evaluation.engagement_id, kind, text)
                session.add(
                    ReviewExample(
                        id=new_id("ex"),
                        engagement_id=evaluation.engagement_id,
                        evaluation_id=evaluation.id,
                        criterion_key=rating.key,
                        kind=kind,
                        counts=counts,
                        text=text,
                        reviewer=review.reviewer,
                        created_at=utc_now(),
                    )
                )


def lessons_of(session: Session, engagement_id: str | None) -> tuple[Lesson, ...]:
    """Return what the judge is to take from the examples of an engagement."""
    if engagement_id is None:
        return ()
    in_use = select(*_COLUMNS).where(
        _COLUMNS.engagement_id == engagement_id, _COLUMNS.revoked_at.is_(None)
    )
    newest_first = in_use.order_by(_COLUMNS.created_at.desc(), _COLUMNS.id)
    rows = session.execute(newest_first.limit(_MOST))
    return tuple(Lesson(row.kind, row.counts, row.text) for row in rows)


def list_page(
    session: Session, request: PageRequest, *, engagement_id: str | None = None
) -> Page[Any]:
    """List the examples that are in use, by default the newest first."""
    statement = select(*_COLUMNS).where(_COLUMNS.revoked_at.is_(None))
    if engagement_id is not None:
        statement = statement.where(_COLUMNS.engagement_id == engagement_id)
    return select_page(session, statement, request, sortable=_SORTABLE, tail=_COLUMNS.id)


def revoke(session: Session, example_id: str) -> None:
    """Take an example out of use; raise `NotFound` if it does not exist."""
    example = find_row(session, ReviewExample, example_id, "example", for_update=True)
    example.revoked_at = example.revoked_at or utc_now()


def erase(session: Session, source_ids: Sequence[str]) -> None:
    of_sources = select(Evaluation.id).where(Evaluation.source_id.in_(source_ids))
    session.execute(delete(ReviewExample).where(_COLUMNS.evaluation_id.in_(of_sources)))


def _replace(session: Session, engagement_id: str, kind: str, text: str) -> None:
    session.execute(
        update(ReviewExample)
        .where(
            _COLUMNS.engagement_id == engagement_id,
            _COLUMNS.kind == kind,
            _COLUMNS.text == text,
            _COLUMNS.revoked_at.is_(None),
        )
        .values(revoked_at=utc_now())
    )


def _shown(kind: str, before: Mapping[str, Any], rating: Rating) -> tuple[bool, list[str]]:
    """Return whether lines are of this kind after all, and the lines."""
    lesson, after = kind_named(kind), rating.answer.score
    former = before["normalizedScore"]
    former = _UNDECIDED if former is None else former
    if after is None or after == former:
        return False, []
    roles = {"customer"} if lesson.side is Side.CUSTOMER else {"agent", "bot", "supervisor"}
    of_person = [piece.quote for piece in rating.answer.evidence if piece.role in roles]
    if (after > former) == lesson.is_good:
        return True, of_person
    polarity = "supports" if lesson.is_good else "contradicts"
    of_judge = [
        piece["quote"]
        for piece in before["evidence"]
        if piece["polarity"] == polarity and piece["role"] in roles
    ]
    return False, of_person or of_judge
