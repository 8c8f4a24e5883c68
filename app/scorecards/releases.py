"""Releases: when agents see what a scorecard has judged."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.errors import InvalidInput
from app.scorecards import service
from app.scorecards.enums import ReleaseRule
from app.scorecards.models import ScorecardRelease

# The ids of the scorecards whose evaluations agents do not see at once.
HOLDING_BACK = select(ScorecardRelease.scorecard_id).where(
    ScorecardRelease.rule != ReleaseRule.AT_ONCE
)


def show(session: Session, scorecard_id: str) -> dict[str, Any]:
    """Return the rule of a scorecard; raise `NotFound` if there is no such scorecard."""
    service.get(session, scorecard_id)
    row = session.get(ScorecardRelease, scorecard_id)
    rule, days = (row.rule, row.days) if row else (ReleaseRule.AT_ONCE, None)
    return {"scorecard_id": scorecard_id, "rule": rule, "days": days}


def change(session: Session, scorecard_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Set the rule of a scorecard, which applies to earlier evaluations as well.

    Raises:
        NotFound: there is no such scorecard.
        InvalidInput: days are missing, or given with another rule.
    """
    service.get(session, scorecard_id)
    rule, days = values["rule"], values.get("days")
    if (rule == ReleaseRule.AFTER_DAYS) is (days is None):
        raise InvalidInput.field("days", "Give days with the rule after_days, and with no other.")
    session.merge(ScorecardRelease(scorecard_id=scorecard_id, rule=rule, days=days))
    session.flush()
    return show(session, scorecard_id)


def released_at(session: Session, scorecard_id: str, completed_at: datetime) -> datetime:
    """Return from when on an agent could see an evaluation that is released."""
    row = session.get(ScorecardRelease, scorecard_id)
    return completed_at + timedelta(days=row.days or 0 if row else 0)
