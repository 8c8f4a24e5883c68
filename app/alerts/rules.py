"""Rules of alerts: checked when they are saved, and tried on the last 30 days."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.alerts import matching
from app.alerts.enums import OF_SERVICE, AlertTrigger
from app.alerts.models import AlertMatch, AlertRule
from app.core.database.records import Records, is_changed
from app.core.errors import InvalidInput
from app.webhooks import targets

HOUR = timedelta(hours=1)
_MOST_A_DAY = 50


def _check(session: Session, row: AlertRule) -> None:
    for name, trigger in (
        ("criterion", AlertTrigger.CRITERION_FAILED),
        ("below", AlertTrigger.SCORE_BELOW),
    ):
        is_given = getattr(row, name) is not None
        if is_given != (row.trigger == trigger):
            verb = "needs" if row.trigger == trigger else "takes no"
            raise InvalidInput.field(
                name, f"The trigger {row.trigger} {verb} {name}.", code="REQUIRED"
            )
    if row.filters and row.trigger in OF_SERVICE:
        raise InvalidInput.field("filters", "A rule about the service takes no filters.")
    if is_changed(row, "target_ids") and (unknown := targets.missing(session, row.target_ids)):
        raise InvalidInput.field("targetIds", f"There is no such target: {unknown[0]}.")
    if not row.active:
        # It would be stale news when the rule is switched on again, perhaps months later.
        waiting = AlertMatch.event_id.is_(None)
        session.execute(delete(AlertMatch).where(AlertMatch.rule_id == row.id, waiting))


def _shown(session: Session, row: AlertRule) -> dict[str, Any]:
    columns = {column.key: getattr(row, column.key) for column in AlertRule.__table__.c}
    return {**columns, "trial": tried(session, row)}


RULES = Records(
    AlertRule, "rule", "alert rule", 100, _check, parts=(AlertMatch.rule_id,), shown=_shown
)


def tried(session: Session, rule: AlertRule) -> dict[str, Any] | None:
    """Say what a rule would have sent in the last 30 days; None for one about the service."""
    if rule.trigger in OF_SERVICE:
        return None
    matches = sorted(matching.past_matches(session, rule))
    messages = 0
    last: datetime | None = None
    for at in matches:
        if last is None or at - last >= HOUR:
            last = at
            messages += 1
    busiest = max(Counter(at.date() for at in matches).values(), default=0)
    sentence = (
        f"In the last 30 days it would have sent {_counted(messages, 'message')} about "
        f"{_counted(len(matches), 'match', 'matches')}."
    )
    if busiest > _MOST_A_DAY:
        sentence += (
            f" That is up to {busiest} a day, more than anybody reads: narrow the rule, "
            "or read a digest."
        )
    return {
        "messages": messages,
        "matches": len(matches),
        "busiest_day": busiest,
        "is_noisy": busiest > _MOST_A_DAY,
        "sentence": sentence,
    }


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
