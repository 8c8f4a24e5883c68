"""Review plans: checked when they are saved, and drawn on their day of the week."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.records import Records
from app.core.errors import InvalidInput
from app.core.ids import new_id
from app.core.principal import TeamScope, current_teams, limited_to
from app.evaluations import listing
from app.evaluations.enums import ENDED, ReviewStatus, Status
from app.evaluations.models import Evaluation
from app.people import service as people
from app.reviews.drawing import Candidate, Dealt, PlanReviewer, draw
from app.reviews.enums import HELD, AssignmentState
from app.reviews.models import ReviewAssignment, ReviewDraw, ReviewPlan

_WEEK = timedelta(days=7)
_WAITS = timedelta(days=1)
_HELD = ReviewAssignment.state.in_(HELD)


@dataclass(frozen=True, slots=True)
class WeekOfPlan:
    """A draw that is due: the day of the plan, and what it chooses from."""

    plan_id: str
    day: date
    candidates: Sequence[Candidate]
    reviewers: Sequence[PlanReviewer]


def _check(session: Session, row: ReviewPlan) -> None:
    if (row.per_agent is None) == (row.percent is None):
        raise InvalidInput.field("perAgent", "Give perAgent or percent, one of the two.")
    is_new = row.seed is None
    if is_new:
        row.seed = secrets.randbelow(2**31)
        teams = current_teams()
        row.teams = None if teams is None else teams.as_text()
    row.timezone = str(row.timezone)
    row.reviewers = _known_reviewers(session, row.reviewers)
    if is_new:
        today = _day_of(row, utc_now())
        # It begins with its next day: work in the middle of a week would surprise.
        is_today = today == utc_now().astimezone(ZoneInfo(row.timezone)).date()
        row.drawn_week = None if is_today else today.isoformat()


PLANS = Records(
    ReviewPlan,
    "plan",
    "review plan",
    100,
    _check,
    parts=(ReviewDraw.plan_id, ReviewAssignment.plan_id),
)


def due_ids(session: Session) -> list[str]:
    """Return the ids of the plans whose day has come and whose week is judged."""
    now = utc_now()
    plans = session.scalars(select(ReviewPlan).where(ReviewPlan.active).order_by(ReviewPlan.id))
    return [
        plan.id
        for plan in plans.all()
        if (day := _day_of(plan, now)).isoformat() != plan.drawn_week
        if not _is_being_judged(session, plan, day)
    ]


def week_of(session: Session, plan_id: str) -> WeekOfPlan:
    """Return what a plan draws from now."""
    plan = PLANS.find(session, plan_id)
    day = _day_of(plan, utc_now())
    candidates = candidates_of(session, plan, day)
    return WeekOfPlan(plan.id, day, candidates, reviewers_of(session, plan))


def draw_week(session: Session, due: WeekOfPlan) -> ReviewDraw | None:
    """Draw a week of a plan and record it; None if that has happened meanwhile."""
    plan = session.get(ReviewPlan, due.plan_id, with_for_update=True)
    week = due.day.isoformat()
    if plan is None or not plan.active or plan.drawn_week == week:
        return None
    one_at_a_time(session, ReviewAssignment.__tablename__)
    # Another plan may have given some of them to somebody since they were read.
    held = set(session.scalars(select(ReviewAssignment.source_id).where(_HELD)))
    candidates = [item for item in due.candidates if item.source_id not in held]
    seed = f"{plan.seed}:{week}"
    dealt, counts = draw(candidates, due.reviewers, _wanted(plan), seed)
    row = ReviewDraw(
        id=new_id("draw"),
        plan_id=plan.id,
        week=week,
        seed=seed,
        counts=[asdict(count) for count in counts],
        drawn_at=utc_now(),
    )
    session.add(row)
    session.add_all(assignment(plan, due.day, item) for item in dealt)
    plan.drawn_week = week
    session.flush()
    return row


def assignment(plan: ReviewPlan, day: date, dealt: Dealt) -> ReviewAssignment:
    """Return the row of a conversation that was dealt in the week of this day."""
    starts = day + timedelta(days=dealt.day)
    candidate = dealt.candidate
    return ReviewAssignment(
        id=new_id("asg"),
        plan_id=plan.id,
        plan=plan.name,
        week=day.isoformat(),
        evaluation_id=candidate.evaluation_id,
        source_id=candidate.source_id,
        executive_id=candidate.executive_id,
        executive=candidate.executive,
        reviewer_id=dealt.user_id,
        blind=plan.blind,
        state=AssignmentState.OPEN,
        starts_at=midnight(plan, starts),
        due_at=midnight(plan, starts + timedelta(days=plan.due_days)),
        created_at=utc_now(),
    )


def reviewers_of(session: Session, plan: ReviewPlan) -> list[PlanReviewer]:
    """Return the people of a plan who may still review."""
    shares = {item["userId"]: item["share"] for item in plan.reviewers}
    with limited_to(None):
        able = [user for user in people.list_reviewers(session) if user.id in shares]
    able.sort(key=lambda user: user.id)
    return [PlanReviewer(user.id, shares[user.id], people.teams_of(user)) for user in able]


def list_draws(session: Session, plan_id: str, request: PageRequest) -> Page[Any]:
    PLANS.find(session, plan_id)
    statement = select(*ReviewDraw.__table__.c).where(ReviewDraw.plan_id == plan_id)
    sortable = {"week": ReviewDraw.week}
    return select_page(session, statement, request, sortable=sortable, tail=ReviewDraw.id)


def midnight(plan: ReviewPlan, day: date) -> datetime:
    """Return the begin of a day in the zone of a plan."""
    return datetime.combine(day, time(), ZoneInfo(plan.timezone)).astimezone(UTC)


def _wanted(plan: ReviewPlan) -> Any:
    if plan.per_agent is not None:
        return lambda pool: plan.per_agent
    percent = plan.percent or 0
    return lambda pool: max(plan.minimum, ceil(pool * percent / 100))


def _day_of(plan: ReviewPlan, now: datetime) -> date:
    """Return the last day of the plan, today included."""
    today = now.astimezone(ZoneInfo(plan.timezone)).date()
    return today - timedelta(days=(today.weekday() - plan.weekday) % 7)


def _is_being_judged(session: Session, plan: ReviewPlan, day: date) -> bool:
    """Return whether a conversation of the week is still being judged; a draw waits a day for it."""
    if utc_now() > max(midnight(plan, day), plan.created_at) + _WAITS:
        return False
    open_one = select(Evaluation.id).where(
        Evaluation.conversation_at >= midnight(plan, day - _WEEK),
        Evaluation.conversation_at < midnight(plan, day),
        Evaluation.status.not_in(ENDED),
    )
    return session.scalar(open_one.limit(1)) is not None


def candidates_of(session: Session, plan: ReviewPlan, day: date) -> list[Candidate]:
    """Return the conversations of the week before this day that match and are not assigned."""
    filters: dict[str, Any] = {
        "status": [Status.COMPLETED],
        "review_status": [ReviewStatus.NONE],
        **plan.filters,
        "start": midnight(plan, day - _WEEK),
        "end": midnight(plan, day),
    }
    held = select(ReviewAssignment.source_id).where((ReviewAssignment.plan_id == plan.id) | _HELD)
    columns = (
        Evaluation.source_id,
        Evaluation.id,
        Evaluation.executive_id,
        Evaluation.executive,
        Evaluation.call_center_id,
        Evaluation.campaign_id,
    )
    with limited_to(TeamScope.from_text(plan.teams)):
        rows = session.execute(
            select(*columns).where(
                *listing.conditions(current=True, **filters),
                Evaluation.executive_id.is_not(None),
                Evaluation.source_id.not_in(held),
            )
        ).all()
    return [
        Candidate(row.source_id, row.id, row.executive_id, row.executive or "", *row[4:])
        for row in rows
    ]


def _known_reviewers(session: Session, reviewers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    able = {user.id for user in people.list_reviewers(session)}
    known: dict[str, int] = {}
    for index, item in enumerate(reviewers):
        # As a request has loaded it, or as it is stored: who has left meanwhile gets nothing.
        user_id = item.get("user_id") or item["userId"]
        if "user_id" in item and user_id not in able:
            raise InvalidInput.field(
                f"reviewers[{index}].userId",
                "This must be an active person who may review what you see.",
            )
        known[user_id] = item["share"]
    return [{"userId": user_id, "share": share} for user_id, share in known.items()]
