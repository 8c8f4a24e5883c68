"""Working week of the demo: alert rules that are switched off, a digest to look at, and a review plan."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.alerts.digests import DIGESTS
from app.alerts.models import Digest
from app.alerts.rules import RULES
from app.alerts.schemas import DigestCreate, RuleCreate
from app.core.database.records import Records
from app.core.secrets.encryption import Keyring
from app.people import service as people
from app.people.roles import ROLES
from app.reviews.models import ReviewPlan
from app.reviews.plans import PLANS
from app.reviews.schemas.plans import PlanCreate
from app.webhooks import targets
from app.webhooks.enums import TargetKind
from app.webhooks.models import Subscription

_BY = "demo"
# The domain is reserved: nobody gets what is sent there.
_LEAD = "lead@example.com"
_RULES: tuple[dict[str, Any], ...] = (
    {"name": "Auto-fails (demo)", "trigger": "auto_fail"},
    {"name": "Low scores (demo)", "trigger": "score_below", "below": 50},
    {"name": "The mean score falls (demo)", "trigger": "mean_down"},
    {"name": "A worker is silent (demo)", "trigger": "worker_silent"},
)
_PLAN = "Weekly reviews (demo)"
_DIGEST = "The week of customer care (demo)"


def set_up(session: Session, keyring: Keyring) -> None:
    """Make the rules and the digest that do not exist; all are switched off."""
    for rule in _RULES:
        _add(session, RULES, RuleCreate().load({**rule, "active": False}))
    if session.scalar(select(Digest.id).where(Digest.name == _DIGEST)) is None:
        target_id = _target_id(session, keyring)
        digest = {"name": _DIGEST, "targetId": target_id, "active": False}
        _add(session, DIGESTS, DigestCreate().load(digest))


def plan_reviews(session: Session) -> None:
    """Make a plan that draws on this week's Monday, for those who may review; none without accounts."""
    values = {"name": _PLAN, "perAgent": 1, "dueDays": 7}
    reviewers = [
        {"userId": user.id}
        for user in people.list_all(session)
        if user.disabled_at is None and "evaluations:review" in ROLES[user.role]
    ]
    if not reviewers or session.scalar(select(ReviewPlan.id).where(ReviewPlan.name == _PLAN)):
        return
    plan = PLANS.create(
        session, PlanCreate().load({**values, "reviewers": reviewers}), created_by=_BY
    )
    # A new plan begins with its next day; this one is to be seen at once.
    plan.drawn_week = None


def _add(session: Session, records: Records[Any], values: dict[str, Any]) -> None:
    table = records.table
    if session.scalar(select(table.id).where(table.name == values["name"])) is None:
        records.create(session, values, created_by=_BY)


def _target_id(session: Session, keyring: Keyring) -> str:
    known = select(Subscription.id).where(Subscription.url == _LEAD)
    found = session.scalar(known.where(Subscription.deleted_at.is_(None)))
    if found is not None:
        return found
    made = targets.create(
        session, keyring, kind=TargetKind.EMAIL, address=_LEAD, description="Lead (demo)"
    )
    return str(made["id"])
