"""Calibration rounds: several people rate the same conversations, blind until all have rated."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.principal import limited_to
from app.evaluations.enums import ReviewAction, Status
from app.evaluations.models import Evaluation
from app.reviews.agreement import comparison
from app.reviews.models import CalibrationRound, Review
from app.reviews.ratings import LatestRatings, latest_ratings

# A round that somebody never completes does not seal ratings for ever.
SEALED_FOR = timedelta(days=30)
# Actions that tell others nothing while their review is sealed.
_BLIND_ACTIONS = (ReviewAction.REQUEST, ReviewAction.START, ReviewAction.COMMENT)
_SORTABLE = {"created_at": CalibrationRound.created_at}


def create(
    session: Session,
    *,
    name: str,
    evaluation_ids: Sequence[str],
    reviewers: Sequence[str],
    created_by: str,
) -> dict[str, Any]:
    """Create a round; repeated ids and reviewers count once."""
    reviewable = reviewable_ids(session, evaluation_ids)
    for index, evaluation_id in enumerate(evaluation_ids):
        if evaluation_id not in reviewable:
            raise InvalidInput.field(
                f"evaluationIds[{index}]", "This must be a completed, current evaluation."
            )
    people: dict[str, str] = {}
    for reviewer in reviewers:
        people.setdefault(reviewer.casefold(), reviewer)
    if len(people) < 2:
        raise InvalidInput.field("reviewers", "A round needs at least two reviewers.")
    row = CalibrationRound(
        id=new_id("round"),
        name=name,
        evaluation_ids=list(dict.fromkeys(evaluation_ids)),
        reviewers=list(people.values()),
        created_by=created_by,
        created_at=utc_now(),
    )
    session.add(row)
    session.flush()
    return _shown(row)


def list_page(session: Session, request: PageRequest) -> Page[Any]:
    statement = select(*CalibrationRound.__table__.c)
    return select_page(session, statement, request, sortable=_SORTABLE, tail=CalibrationRound.id)


def show(session: Session, round_id: str) -> dict[str, Any]:
    """Show a round: who has rated what, where answers differ, and the agreement.

    Only ratings count that a reviewer of the round has given since it was created.
    """
    row = find_row(session, CalibrationRound, round_id, "calibration round")
    name_of = {reviewer.casefold(): reviewer for reviewer in row.reviewers}
    ratings = sorted(
        ratings_in(session, row),
        key=lambda rating: (row.evaluation_ids.index(rating.evaluation_id), rating.rater),
    )
    return {
        **_shown(row),
        "reviewable_ids": reviewable_ids(session, row.evaluation_ids),
        "sealed": False,
        "ratings": [
            {
                "evaluation_id": rating.evaluation_id,
                "reviewer": name_of[rating.rater],
                "score": rating.score,
                "judge_score": rating.judged["score"],
                "answer_count": len(rating.ratings),
            }
            for rating in ratings
        ],
        "differences": list(_differences(ratings, name_of)),
        "agreement": comparison.compare(ratings),
    }


def sealed(shown: Mapping[str, Any], reviewer: str | None) -> dict[str, Any]:
    """Return a round as a caller of the API sees it: without scores and answers while it is open.

    Args:
        shown: what `show` has returned.
        reviewer: the person for whom it is read; one who has rated everything sees all.
    """
    known = {name.casefold(): name for name in shown["reviewers"]}
    if reviewer is not None and reviewer.casefold() not in known:
        raise InvalidInput.field(
            "reviewer", "This must be a reviewer of the round.", location="query"
        )
    awaited = [known[reviewer.casefold()]] if reviewer is not None else shown["reviewers"]
    is_over = shown["created_at"] <= utc_now() - SEALED_FOR
    if is_over or not any(left_to_rate(shown, name) for name in awaited):
        return dict(shown)
    hidden = {"score": None, "judge_score": None}
    return {
        **shown,
        "sealed": True,
        "ratings": [{**rating, **hidden} for rating in shown["ratings"]],
        "differences": [],
        "agreement": None,
    }


def left_to_rate(shown: Mapping[str, Any], reviewer: str) -> list[str]:
    """Return the conversations of a round that one of its people has yet to rate.

    A conversation that was judged again since then cannot be rated, and the round does not wait for it.
    """
    rated = {
        rating["evaluation_id"] for rating in shown["ratings"] if rating["reviewer"] == reviewer
    }
    left = shown["reviewable_ids"] - rated
    return [key for key in shown["evaluation_ids"] if key in left]


def ratings_in(session: Session, row: Any) -> list[LatestRatings]:
    """Return what the people of a round have rated since it was created."""
    return latest_ratings(session, [reviews_in(row)])


def reviews_in(row: Any) -> ColumnElement[bool]:
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


def open_rounds(session: Session, evaluation_id: str | None = None) -> list[Any]:
    """Return the rounds whose ratings are sealed, also those that the caller's teams may not see.

    Args:
        evaluation_id: only rounds with this conversation; by default all.
    """
    table = CalibrationRound.__table__.c
    recent = select(*table).where(table.created_at > utc_now() - SEALED_FOR)
    with limited_to(None):
        return [
            row
            for row in session.execute(recent)
            if evaluation_id in (None, *row.evaluation_ids) and not _is_complete(session, row)
        ]


def sealed_reviews(session: Session, evaluation_id: str) -> Sequence[str]:
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


def _shown(row: CalibrationRound) -> dict[str, Any]:
    return {column.key: getattr(row, column.key) for column in CalibrationRound.__table__.c}


def _differences(
    ratings: Sequence[LatestRatings], name_of: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the criteria of each conversation that people have answered differently."""
    for evaluation_id, group in groupby(ratings, key=attrgetter("evaluation_id")):
        by_criterion: dict[str, list[tuple[str, Any]]] = {}
        for rating in group:
            for key, pair in rating.ratings.items():
                by_criterion.setdefault(key, []).append((name_of[rating.rater], pair))
        for key, answers in by_criterion.items():
            values = {(pair["human"]["applicable"], pair["human"]["score"]) for _, pair in answers}
            if len(values) > 1:
                judge = answers[0][1]
                yield {
                    "evaluation_id": evaluation_id,
                    "key": key,
                    "title": judge["title"],
                    "judge": _answer(judge["judge"]),
                    "answers": [
                        {"reviewer": reviewer, **_answer(pair["human"])}
                        for reviewer, pair in answers
                    ],
                }


def _answer(side: dict[str, Any]) -> dict[str, Any]:
    return {
        "applicable": side["applicable"],
        "answer": side["answer"],
        "normalized_score": side["score"],
    }


def _is_complete(session: Session, row: Any) -> bool:
    rated = {(rating.evaluation_id, rating.rater) for rating in ratings_in(session, row)}
    return all(
        (evaluation_id, reviewer.casefold()) in rated
        for evaluation_id in reviewable_ids(session, row.evaluation_ids)
        for reviewer in row.reviewers
    )
