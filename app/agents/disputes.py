"""Disputes of agents: opened as reviews, in time and to somebody, and counted by criterion."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection, completed_evaluations
from app.core.clock import utc_now
from app.core.errors import Conflict, InvalidInput
from app.evaluations import results
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation
from app.people import service as people
from app.people.roles import ADMIN, LEAD
from app.reviews import service as reviews
from app.reviews.agreement.two_raters import wilson
from app.reviews.models import Review
from app.scorecards import releases
from app.scorecards import service as scorecards

# All criteria together.
_ALL = ""
# Reviews after which an agent has something new to dispute.
_DECIDED = (ReviewAction.CONFIRM, ReviewAction.OVERRIDE)
_ENDS = (ReviewAction.ACCEPT_DISPUTE, ReviewAction.REJECT_DISPUTE)


def open_until(session: Session, evaluation_id: str, days: int) -> datetime:
    """Return until when an evaluation may be disputed: a window from when it, or a review, was shown.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not completed, or a newer revision replaces it.
    """
    evaluation, _ = results.find_reviewable(session, evaluation_id, for_update=False)
    decided = select(Review.created_at).where(
        Review.evaluation_id == evaluation_id, Review.action.in_(_DECIDED)
    )
    completed_at = evaluation.completed_at or evaluation.updated_at
    shown_at = releases.released_at(session, evaluation.scorecard_id, completed_at)
    moments: list[datetime] = [shown_at, *session.scalars(decided)]
    return max(moments) + timedelta(days=days)


def open_dispute(
    session: Session,
    evaluation_id: str,
    body: Mapping[str, Any],
    *,
    name: str,
    ref: str,
    days: int,
) -> dict[str, Any]:
    """Dispute answers of an evaluation for its agent.

    Args:
        body: the fields of `schemas.DisputeCreate`.
        name: the person who disputes, as reviews name them, with `ref`, the id of the account or key.
        days: the length of the window.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is too late, or a dispute is open or decided already.
        InvalidInput: the criteria do not fit, or the addressee may not decide disputes.
    """
    until = open_until(session, evaluation_id, days)
    if utc_now() >= until:
        raise Conflict(f"It could be disputed until {until:%d %B %Y}: ask your lead for a review.")
    addressee_id = body.get("addressee_id")
    if addressee_id is not None and addressee_id not in addressees(session, evaluation_id):
        raise InvalidInput.field(
            "addresseeId", "This must be the account of a lead who sees the evaluation."
        )
    who = {"reviewer": name, "reviewer_ref": ref, "confirms_others": False}
    disputed = {**body, **who, "action": ReviewAction.DISPUTE}
    return reviews.add(session, evaluation_id, disputed, created_by=ref)


def addressees(session: Session, evaluation_id: str) -> dict[str, str]:
    """Return the ids and names of those who may decide a dispute of an evaluation."""
    evaluation, _ = results.find_reviewable(session, evaluation_id, for_update=False)
    return {
        user.id: user.display_name
        for user in people.list_all(session)
        if user.disabled_at is None
        and user.role in (LEAD, ADMIN)
        and (not user.call_center_ids or evaluation.call_center_id in user.call_center_ids)
        and (not user.campaign_ids or evaluation.campaign_id in user.campaign_ids)
    }


def named_addressees(session: Session, evaluation_ids: Sequence[str]) -> dict[str, str]:
    """Map those of these evaluations whose newest dispute is addressed to somebody to the name."""
    rows = session.execute(
        select(Review.evaluation_id, Review.addressee_id)
        .where(Review.evaluation_id.in_(evaluation_ids), Review.action == ReviewAction.DISPUTE)
        .order_by(Review.id)
    )
    newest: dict[str, str | None] = dict(rows.all())
    names = people.display_names(session, {key for key in newest.values() if key})
    return {key: names[to] for key, to in newest.items() if to in names}


def figures(session: Session, selection: Selection) -> dict[str, Any]:
    """Count how often the judge was disputed in a selection, and how often rightly, by criterion.

    A criterion was upheld where an accepted dispute has changed its answer.
    """
    where = completed_evaluations(selection)
    steps = session.execute(
        select(
            *(Review.evaluation_id, Review.action, Review.criteria),
            *(Evaluation.scorecard_id, Evaluation.scorecard_version),
        )
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .where(*where, Review.action.in_((ReviewAction.DISPUTE, *_ENDS)))
        .order_by(Review.id)
    )
    counts = _Counts()
    of_criterion: dict[str, Any] = {}
    for step in steps:
        counts.add(step)
        of_criterion |= {rating["key"]: step for rating in step.criteria}
    evaluations = session.scalar(select(func.count()).select_from(Evaluation).where(*where)) or 0
    return {
        "period": selection.period.shown(),
        "evaluations": evaluations,
        "disputed": _share(len(counts.of_evaluation), evaluations),
        "upheld": _share(counts.upheld[_ALL], counts.decided[_ALL]),
        "criteria": [
            {
                "key": key,
                "title": _title(session, of_criterion[key], key),
                "disputed": _share(number, counts.disputed[_ALL]),
                "upheld": _share(counts.upheld[key], counts.decided[key]),
            }
            for key, number in counts.disputed.most_common()
            if key != _ALL
        ],
    }


class _Counts:
    """Numbers of disputes by the key of the criterion, and of all of them."""

    def __init__(self) -> None:
        self.disputed, self.decided, self.upheld = Counter[str](), Counter[str](), Counter[str]()
        # The criteria of the last dispute of each evaluation.
        self.of_evaluation: dict[str, list[str]] = {}

    def add(self, step: Any) -> None:
        """Count a dispute or a decision of one; they come in their order."""
        keys = [rating["key"] for rating in step.criteria]
        if step.action == ReviewAction.DISPUTE:
            self.of_evaluation[step.evaluation_id] = keys
            self.disputed.update([*keys, _ALL])
            return
        disputed = self.of_evaluation.get(step.evaluation_id, [])
        self.decided.update([*disputed, _ALL])
        if step.action == ReviewAction.ACCEPT_DISPUTE:
            self.upheld.update([*(key for key in disputed if key in keys), _ALL])


def _share(hits: int, count: int) -> dict[str, Any] | None:
    """Return a share with its interval; None of nothing."""
    if not count:
        return None
    rate = wilson(hits, count)
    return {
        **{name: round(getattr(rate, name), 4) for name in ("value", "low", "high")},
        "hits": hits,
        "count": count,
    }


def _title(session: Session, step: Any, key: str) -> str:
    scorecard = scorecards.version_of(session, step.scorecard_id, step.scorecard_version)
    return scorecard.scorecard.criterion(key).title
