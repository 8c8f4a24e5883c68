"""A team's week over the data set of `bench.analytics`: a drawn plan, reviews, coaching, goals, rules, a digest."""

import random
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from app.alerts import schemas
from app.alerts.digests import DIGESTS
from app.alerts.models import Digest
from app.alerts.rules import RULES
from app.coaching.models import CoachingSession, Goal
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations.enums import Channel
from app.evaluations.models import Evaluation
from app.reviews import plans
from app.reviews.models import Review, ReviewPlan
from app.reviews.schemas.plans import PlanCreate
from app.scorecards import default_scorecards
from app.webhooks import targets
from app.webhooks.enums import TargetKind
from bench.analytics_stage import CRITERIA
from tests.visitor import add_user

REVIEWERS, REVIEWS, SESSIONS_EACH, RULES_MADE = 10, 2_000, 5, 20
KEYS = [f"criterion_{number}" for number in range(CRITERIA)]


def pages(executive_id: str, ids: dict[str, str]) -> dict[str, tuple[str, int]]:
    """Return the address of each page of the week for an admin, and how many milliseconds it may take."""
    return {
        "review plans": ("/review/plans", 40),
        "one plan": (f"/review/plans/{ids['plan']}", 60),
        "reviewers": ("/review/reviewers", 500),
        "my reviews": ("/review/mine", 40),
        "coaching": ("/coaching", 250),
        "one coaching session": (f"/coaching/{ids['coach']}", 250),
        "new coaching session": (f"/coaching/new?executiveId={executive_id}", 60),
        "rules of alerts": ("/messages", 60),
        "digests": ("/messages/digests", 40),
        "preview of a digest": (f"/messages/digests/{ids['dig']}", 1_000),
        "linking accounts": ("/people/links", 40),
    }


def pages_of_agent(executive_id: str) -> dict[str, tuple[str, int]]:
    """Return the same for an agent, who is limited to their own conversations."""
    return {
        "agent: my results": ("/my/results", 500),
        "agent: my coaching": ("/my/coaching", 250),
        "agent: list, all time": ("/evaluations?days=all", 250),
        "agent: themselves": (f"/executives/{executive_id}", 500),
    }


def played(runtime: Runtime, ids: dict[str, list[str]]) -> dict[str, str]:
    """Play the week, unless that is done; return the ids of a plan, a session and a digest, by prefix."""
    with runtime.db.reading() as session:
        is_new = session.scalar(select(ReviewPlan.id).limit(1)) is None
    if is_new:
        _play(runtime, ids)
    with runtime.db.reading() as session:
        tables = {"plan": ReviewPlan, "coach": CoachingSession, "dig": Digest}
        first = {name: select(table.id).limit(1) for name, table in tables.items()}
        return {name: session.execute(found).scalar_one() for name, found in first.items()}


def _play(runtime: Runtime, ids: dict[str, list[str]]) -> None:
    people = [add_user(runtime, "reviewer", f"reviewer-{number}") for number in range(REVIEWERS)]
    values = {"name": "Weekly", "perAgent": 3, "reviewers": [{"userId": key} for key in people]}
    with runtime.db.writing() as session:
        plan = plans.PLANS.create(session, PlanCreate().load(values), created_by="bench")
        plan.drawn_week = None
    with runtime.db.reading() as session:
        week = plans.week_of(session, plan.id)
    with runtime.db.writing() as session:
        plans.draw_week(session, week)
        _review(session, people)
        _coach(session, ids)
        target = targets.create(
            session, runtime.keyring, kind=TargetKind.EMAIL, address="lead@example.com"
        )
        for number in range(RULES_MADE):
            rule = {"name": f"Rule {number}", "trigger": "score_below", "below": 40}
            RULES.create(session, schemas.RuleCreate().load(rule), created_by="bench")
        digest = {"name": "Weekly", "targetId": target["id"]}
        DIGESTS.create(session, schemas.DigestCreate().load(digest), created_by="bench")


def _review(session: Session, people: list[str]) -> None:
    """Review the newest evaluations; every fifth one by two people."""
    dice = random.Random(1)
    newest = select(Evaluation.id).order_by(Evaluation.conversation_at.desc()).limit(REVIEWS)
    pairs = [
        (evaluation_id, rater)
        for number, evaluation_id in enumerate(session.scalars(newest).all())
        for rater in dice.sample(people, 1 if number % 5 else 2)
    ]
    session.execute(insert(Review), [_row(*pair, dice.choice((0.0, 1.0))) for pair in pairs])


def _row(evaluation_id: str, rater: str, score: float) -> dict[str, Any]:
    judge = {"applicable": True, "answer": "yes", "score": 1.0, "confidence": 0.9}
    pair = {"title": "Criterion", "type": "binary", "options": [0.0, 1.0], "judge": judge}
    return {
        "id": new_id("rev"),
        "evaluation_id": evaluation_id,
        "revision": 1,
        "action": "override",
        "reviewer": rater,
        "reviewer_ref": rater,
        "rater": rater,
        "created_by": rater,
        "criteria": [],
        "confirms_others": False,
        "status_before": "none",
        "status_after": "overridden",
        "score_before": 80,
        "score_after": 75,
        "rated_score": 75.0,
        "ratings": {key: {**pair, "human": {**judge, "score": score}} for key in KEYS},
        "judged": {"score": 80, "resolution": None, "satisfaction": None},
        "created_at": utc_now(),
    }


def _coach(session: Session, ids: dict[str, list[str]]) -> None:
    """Record some sessions and a goal of each agent."""
    now = utc_now()
    made = {"created_by": "bench", "created_at": now, "updated_at": now}
    scorecard_id = default_scorecards.IDS[Channel.CHAT]
    about = {"call_center_id": ids["cc"][0], "scorecard_id": scorecard_id, **made}
    session.execute(
        insert(CoachingSession),
        [
            {
                **about,
                "id": new_id("coach"),
                "executive_id": executive_id,
                "coach": "Lead",
                "at": now - timedelta(days=30 * (number + 1)),
                "criteria": KEYS[:3],
                "evidence": [],
                "notes_for": "both",
                "state": "held",
            }
            for executive_id in ids["exec"]
            for number in range(SESSIONS_EACH)
        ],
    )
    numbers = {"start_value": 70.0, "target": 85.0, "at": now + timedelta(days=30)}
    session.execute(
        insert(Goal),
        [
            {**about, **numbers, "id": new_id("goal"), "executive_id": key, "criterion": KEYS[0]}
            for key in ids["exec"]
        ],
    )
