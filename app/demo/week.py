"""Working week of the demo: a draw of reviews partly done, receipts, an upheld dispute, coaching and goals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.agents import disputes, receipts
from app.agents.enums import ReceiptAction
from app.analytics.engine.reader import open_facts
from app.coaching import measuring
from app.coaching import service as coaching
from app.coaching.enums import NotesFor, SessionState
from app.coaching.models import CoachingSession
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.demo import people
from app.directory.models import CallCenter, Executive
from app.evaluations.enums import ReviewAction, ReviewStatus, Status
from app.evaluations.models import Evaluation, EvaluationResult
from app.people.models import User
from app.reviews import plans
from app.reviews import service as reviews
from app.reviews.enums import AssignmentState
from app.reviews.models import ReviewAssignment, ReviewPlan
from app.reviews.schemas.plans import PlanCreate
from app.scorecards import service as scorecards

_BY = "demo"
_PLAN = "Weekly reviews (demo)"
# The agents whose share of the week is reviewed; that of the others is to be done.
_REVIEWED = ("demo-exec-sofia", "demo-exec-rohan")
_DISPUTES, _COACHED, _PLANNED = "demo-exec-rohan", "demo-exec-marcus", "demo-exec-tom"
_AGENTS = ("anna", "marcus", "priya", "rohan", "sofia", "tom")
_MOST_CRITERIA = 20


@dataclass(frozen=True, slots=True)
class _Coached:
    """A criterion of an agent, and the mean before and after a session about it."""

    agent: Executive
    scorecard_id: str
    criterion: str
    before: float
    low: float


def plan_reviews(session: Session) -> None:
    """Make the review plan, which draws the week at once, unless it exists or there are no reviewers."""
    found = [people.find(session, name) for name in people.REVIEWERS]
    reviewers = [{"userId": user.id} for user in found if user is not None]
    if not reviewers or session.scalar(select(ReviewPlan.id).where(ReviewPlan.name == _PLAN)):
        return
    values = {"name": _PLAN, "perAgent": 2, "dueDays": 7, "reviewers": reviewers}
    plan = plans.PLANS.create(session, PlanCreate().load(values), created_by=_BY)
    # A new plan begins with its next day; this one is to be seen at once.
    plan.drawn_week = None


def play(runtime: Runtime) -> None:
    """Let the people of the demo work, once its conversations are judged; a second call changes nothing."""
    with runtime.db.reading() as session:
        if _is_played(session) or people.find(session, people.REVIEWERS[0]) is None:
            return
        plan_id = session.scalar(select(ReviewPlan.id).where(ReviewPlan.name == _PLAN))
        week = plans.week_of(session, plan_id) if plan_id is not None else None
    if week is not None:
        with runtime.db.writing() as session:
            plans.draw_week(session, week)
    at = utc_now().replace(hour=9, minute=0, second=0, microsecond=0)
    helped = _most_helped(runtime, at - measuring.WINDOW)
    with runtime.db.writing() as session:
        if _is_played(session):
            return
        agents = _agents(session)
        _review(session, agents)
        _dispute(session, agents[_DISPUTES], runtime.settings.dispute_days)
        for key in _REVIEWED:
            _answer(session, agents[key])
        _coach(session, agents, helped, at)


def _is_played(session: Session) -> bool:
    mine = select(CoachingSession.id).where(CoachingSession.created_by == _BY)
    return session.scalar(mine.limit(1)) is not None


def _agents(session: Session) -> dict[str, Executive]:
    keys = [f"demo-exec-{name}" for name in _AGENTS]
    rows = session.scalars(select(Executive).where(Executive.external_id.in_(keys)))
    return {str(row.external_id): row for row in rows}


def _led(session: Session) -> Sequence[Executive]:
    """Return the agents of the leads."""
    rows = select(Executive).join(CallCenter, CallCenter.id == Executive.call_center_id)
    of_leads = CallCenter.external_id.in_(people.LEADS)
    return session.scalars(rows.where(of_leads).order_by(Executive.id)).all()


def _judged(session: Session, agent: Executive) -> Iterator[tuple[Evaluation, EvaluationResult]]:
    """Yield the judged conversations of an agent without a review, the newest first."""
    rows = session.execute(
        select(Evaluation, EvaluationResult)
        .join(EvaluationResult, EvaluationResult.evaluation_id == Evaluation.id)
        .where(
            Evaluation.executive_id == agent.id,
            Evaluation.is_current,
            Evaluation.status == Status.COMPLETED,
            Evaluation.review_status == ReviewStatus.NONE,
        )
        .order_by(Evaluation.conversation_at.desc(), Evaluation.id)
    )
    for row in rows:
        yield row.Evaluation, row.EvaluationResult


def _review(session: Session, agents: Mapping[str, Executive]) -> None:
    """Review what was drawn of some agents; one of it is begun only."""
    reviewed = [agents[key].id for key in _REVIEWED]
    drawn = session.execute(
        select(ReviewAssignment.evaluation_id, User)
        .join(User, User.id == ReviewAssignment.reviewer_id)
        .where(ReviewAssignment.plan == _PLAN, ReviewAssignment.state == AssignmentState.OPEN)
        .where(ReviewAssignment.executive_id.in_(reviewed))
        .order_by(ReviewAssignment.due_at.desc(), ReviewAssignment.id)
    ).all()
    for place, row in enumerate(drawn):
        action = ReviewAction.CONFIRM if place or len(drawn) == 1 else ReviewAction.START
        _step(session, row.evaluation_id, row.User, {"action": action})


def _step(session: Session, evaluation_id: str, user: User, body: Mapping[str, Any]) -> None:
    who = {"reviewer": user.display_name, "reviewer_ref": user.id, "confirms_others": False}
    reviews.add(session, evaluation_id, {**who, **body}, created_by=user.id)


def _dispute(session: Session, agent: Executive, days: int) -> None:
    """Dispute the first answer that lost points and names no line, which the lead upholds."""
    lead, user = _lead_of(session, agent), people.find(session, agent.name)
    if lead is None or user is None:
        return
    for evaluation, result in _judged(session, agent):
        if (rating := _demanded(session, evaluation, result)) is not None:
            dispute = {
                "reason": "Please look again.",
                "criteria": [rating],
                "addressee_id": lead.id,
            }
            disputes.open_dispute(
                session, evaluation.id, dispute, name=user.display_name, ref=user.id, days=days
            )
            decision = {"action": ReviewAction.ACCEPT_DISPUTE, "reason": "You are right."}
            _step(session, evaluation.id, lead, {**decision, "criteria": [rating]})
            return


def _demanded(
    session: Session, evaluation: Evaluation, result: EvaluationResult
) -> dict[str, Any] | None:
    scorecard = scorecards.version_of(
        session, evaluation.scorecard_id, evaluation.scorecard_version
    ).scorecard
    for found in result.document["criteria"]:
        options = scorecard.criterion(found["key"]).options
        lost_points = found["applicable"] and (found["normalizedScore"] or 0) < 1
        if options and lost_points and not found["evidence"]:
            best = max(options, key=lambda option: option.score)
            reason = "It was settled before, in the same conversation."
            return {
                "key": found["key"],
                "applicable": True,
                "answer": best.answer,
                "reason": reason,
            }
    return None


def _answer(session: Session, agent: Executive) -> None:
    """Let an agent see, acknowledge and comment on their newest evaluations."""
    user = people.find(session, agent.name)
    if user is None:
        return
    for place, (evaluation, _) in zip(range(5), _judged(session, agent), strict=False):
        receipts.add(session, evaluation.id, ReceiptAction.SEEN, user_id=user.id)
        if place < 3:
            receipts.add(session, evaluation.id, ReceiptAction.ACKNOWLEDGED, user_id=user.id)
        if place == 0:
            comment = "Thank you, I see what you mean about the closing."
            receipts.add(
                session, evaluation.id, ReceiptAction.COMMENTED, comment=comment, user_id=user.id
            )


def _lead_of(session: Session, agent: Executive) -> User | None:
    center = session.get(CallCenter, agent.call_center_id)
    return None if center is None else people.find(session, people.LEADS[str(center.external_id)])


def _most_helped(runtime: Runtime, at: datetime) -> _Coached | None:
    """Return the criterion that has improved most clearly since a moment, if one has."""
    found: list[_Coached] = []
    with open_facts(runtime) as facts:
        for agent in _led(facts.session):
            evaluation = next(iter(_judged(facts.session, agent)), None)
            if evaluation is None:
                continue
            scorecard_id = evaluation[0].scorecard_id
            criteria = scorecards.find(facts.session, scorecard_id).scorecard.criteria
            about = {
                "state": SessionState.HELD,
                "criteria": [criterion.key for criterion in criteria[:_MOST_CRITERIA]],
                "at": at,
                "executive_id": agent.id,
                "call_center_id": agent.call_center_id,
                "scorecard_id": scorecard_id,
            }
            found += [
                _Coached(
                    agent,
                    scorecard_id,
                    effect["key"],
                    effect["before"]["mean"],
                    effect["difference"]["low"],
                )
                for effect in measuring.effects_of(facts, about)
                if effect["difference"] is not None
            ]
    return max(found, key=lambda coached: coached.low, default=None)


def _coach(
    session: Session, agents: Mapping[str, Executive], helped: _Coached | None, at: datetime
) -> None:
    """Record a session that was measured, one that was held, and one that is planned; set goals."""
    if helped is not None:
        about = {"scorecard_id": helped.scorecard_id, "criteria": [helped.criterion]}
        held = {"state": SessionState.HELD, "at": at - measuring.WINDOW}
        coaching.acknowledge(session, _add_session(session, helped.agent, {**about, **held}))
        goal = {"start_value": round(helped.before), "target": min(100, round(helped.before) + 15)}
        of_criterion = {"scorecard_id": helped.scorecard_id, "criterion": helped.criterion}
        _add_goal(session, at, executive_id=helped.agent.id, **of_criterion, **goal)
    weak = next(
        (
            evaluation
            for evaluation, _ in _judged(session, agents[_COACHED])
            if evaluation.failed_criteria
        ),
        None,
    )
    if weak is not None:
        about = {"scorecard_id": weak.scorecard_id, "criteria": weak.failed_criteria[:1]}
        evidence = {"evidence": [{"evaluation_id": weak.id, "quote": None}]}
        held = {"state": SessionState.HELD, "at": at - timedelta(days=3)}
        _add_session(session, agents[_COACHED], {**about, **evidence, **held})
        planned = {"state": SessionState.PLANNED, "at": at + timedelta(days=2)}
        _add_session(session, agents[_PLANNED], {**about, **planned})
    center_id = agents[_COACHED].call_center_id
    _add_goal(session, at, call_center_id=center_id, start_value=75, target=85)


def _add_session(session: Session, agent: Executive, values: Mapping[str, Any]) -> str:
    lead = _lead_of(session, agent)
    filled = {
        "executive_id": agent.id,
        "evidence": [],
        "steps": "Listen to two calls together, and try it in the next week.",
        "due": values["at"] + timedelta(days=7),
        "notes": None,
        "notes_for": NotesFor.BOTH,
        **values,
    }
    coach = lead.display_name if lead else "Lead"
    made = coaching.add_session(session, filled, coach=coach, created_by=_BY)
    return str(made["id"])


def _add_goal(session: Session, at: datetime, **values: Any) -> None:
    coaching.GOALS.create(session, {"at": at + timedelta(days=30), **values}, created_by=_BY)
