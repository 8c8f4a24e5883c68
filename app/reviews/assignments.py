"""Assignments of review plans: listed, followed by reviews, replaced, and ended when no review comes."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.filters import Filters, before, conditions, equal, one_of
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.errors import Conflict
from app.core.jobs.purging import delete_older
from app.core.principal import limited_to
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation
from app.reviews import plans
from app.reviews.drawing import draw
from app.reviews.enums import HELD, AssignmentState
from app.reviews.models import ReviewAssignment, ReviewDraw, ReviewPlan

EXPIRES_AFTER = timedelta(days=14)
_HELD = ReviewAssignment.state.in_(HELD)
_FILTERS: Filters = {
    "reviewer": equal(ReviewAssignment.reviewer_id),
    "plan_id": equal(ReviewAssignment.plan_id),
    "state": one_of(ReviewAssignment.state),
    "executive_id": equal(ReviewAssignment.executive_id),
    "due_before": before(ReviewAssignment.due_at),
}
_COLUMNS = ReviewAssignment.__table__.c
_EVALUATION = Evaluation.__table__.c
_CURRENT = func.coalesce(
    select(_EVALUATION.id)
    .where(
        _EVALUATION.source_id == _COLUMNS.source_id,
        # For SQLite an equality would be as selective as the first one.
        _EVALUATION.is_current.is_not(False),
    )
    .scalar_subquery(),
    _COLUMNS.evaluation_id,
).label("evaluation_id")
_SORTABLE = {"due_at": ReviewAssignment.due_at, "created_at": ReviewAssignment.created_at}


def list_page(session: Session, request: PageRequest, **filters: Any) -> Page[Any]:
    """List assignments as mappings, each with the current evaluation of its conversation."""
    columns = [column for column in _COLUMNS if column is not _COLUMNS.evaluation_id]
    statement = select(*columns, _CURRENT).where(*conditions(_FILTERS, filters))
    return select_page(session, statement, request, sortable=_SORTABLE, tail=ReviewAssignment.id)


def count(session: Session, *groups: str, **filters: Any) -> list[Any]:
    columns = [getattr(ReviewAssignment, name) for name in groups]
    counted = select(*columns, func.count().label("count"))
    where = conditions(_FILTERS, filters)
    return list(session.execute(counted.where(*where).group_by(*columns).order_by(*columns)))


def held_evaluations() -> Select[str]:
    """Select the evaluations, of every revision, of conversations that somebody is still to review."""
    same_source = ReviewAssignment.source_id == Evaluation.source_id
    return select(Evaluation.id).join(ReviewAssignment, same_source).where(_HELD)


def note_review(session: Session, source_id: str, rater: str, action: str) -> None:
    """Follow a review: its author's assignment has begun, or is done."""
    values: dict[str, Any] = {"state": AssignmentState.DONE, "done_at": utc_now()}
    if action == ReviewAction.REQUEST:
        return
    if action == ReviewAction.START:
        values = {"state": AssignmentState.IN_REVIEW, "started_at": utc_now()}
    with limited_to(None):
        session.execute(
            update(ReviewAssignment)
            .where(ReviewAssignment.source_id == source_id, _HELD)
            .where(ReviewAssignment.reviewer_id == rater)
            .values(values)
            .execution_options(synchronize_session=False)
        )


def replace(session: Session, assignment_id: str, *, reason: str) -> dict[str, Any]:
    """Take an assignment back with a reason, and draw another conversation of the agent, if any is left."""
    row = find_row(session, ReviewAssignment, assignment_id, "assignment", for_update=True)
    if row.state not in HELD:
        raise Conflict("This assignment has ended: only open ones can be replaced.")
    plan = find_row(session, ReviewPlan, row.plan_id, "review plan", for_update=True)
    # A draw of another plan may not give the same conversation meanwhile.
    one_at_a_time(session, ReviewAssignment.__tablename__)
    day = date.fromisoformat(row.week)
    left = [
        candidate
        for candidate in plans.candidates_of(session, plan, day)
        if candidate.executive_id == row.executive_id
    ]
    people = plans.reviewers_of(session, plan)
    # The same person; others for somebody who has left.
    people = [person for person in people if person.user_id == row.reviewer_id] or people
    seed = f"{plan.seed}:{row.week}:{row.id}"
    dealt, _ = draw(left, people, lambda pool: 1, seed)
    row.state, row.reason, row.done_at = AssignmentState.REPLACED, reason, utc_now()
    other = None
    for item in dealt:
        other = plans.assignment(plan, day, item)
        other.due_at = max(row.due_at, utc_now() + timedelta(days=plan.due_days))
        session.add(other)
    session.flush()
    return {"replaced": row, "replacement": other}


def erase(session: Session, source_ids: Sequence[str]) -> None:
    of_these = ReviewAssignment.source_id.in_(source_ids)
    session.execute(update(ReviewAssignment).where(of_these).values(reason=None))


def purge(session: Session, *, before: datetime) -> int:
    """Delete a batch of draws from before a moment, and of assignments that have ended; return how many."""
    ended = ReviewAssignment.state.not_in(HELD)
    return delete_older(session, ReviewAssignment.done_at, ended, before=before) + delete_older(
        session, ReviewDraw.drawn_at, before=before
    )


def expire(session: Session) -> int:
    """End assignments without a review two weeks after they were due; return how many."""
    late = ReviewAssignment.due_at < utc_now() - EXPIRES_AFTER
    ended = (
        update(ReviewAssignment)
        .where(_HELD, late)
        .values(state=AssignmentState.EXPIRED, done_at=utc_now())
    )
    ended = ended.execution_options(synchronize_session=False)
    return len(session.scalars(ended.returning(ReviewAssignment.id)).all())
