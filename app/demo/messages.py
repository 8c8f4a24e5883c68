"""Messages of the demo: alert rules that are switched off, and a digest to look at."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.alerts.digests import DIGESTS
from app.alerts.models import Digest
from app.alerts.rules import RULES
from app.alerts.schemas import DigestCreate, RuleCreate
from app.core.database.records import Records
from app.core.secrets.encryption import Keyring
from app.webhooks import targets
from app.webhooks.enums import TargetKind
from app.webhooks.models import Subscription

_BY = "demo"
# The domain is reserved: what is sent there reaches no one.
_LEAD = "lead@example.com"
_RULES: tuple[dict[str, Any], ...] = (
    {"name": "Auto-fails (demo)", "trigger": "auto_fail"},
    {"name": "Low scores (demo)", "trigger": "score_below", "below": 50},
    {"name": "The mean score falls (demo)", "trigger": "mean_down"},
    {"name": "A worker is silent (demo)", "trigger": "worker_silent"},
)
_DIGEST = "The week of customer care (demo)"


def set_up(session: Session, keyring: Keyring) -> None:
    """Make the rules and the digest that do not exist; all are switched off."""
    for rule in _RULES:
        _add(session, RULES, RuleCreate().load({**rule, "active": False}))
    if session.scalar(select(Digest.id).where(Digest.name == _DIGEST)) is None:
        target_id = _target_id(session, keyring)
        digest = {"name": _DIGEST, "targetId": target_id, "active": False}
        _add(session, DIGESTS, DigestCreate().load(digest))


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
