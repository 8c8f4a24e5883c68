"""What is read from usage, and how deliveries are counted."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.usage.models import KeyUse, UsageRecord
from app.usage.periods import first_day, first_day_after
from app.usage.records import CALLS, WEBHOOKS, add


def count_delivery(session: Session, *, subscription_id: str, now: datetime) -> None:
    """Count one webhook delivery; call it once, with the delivery's first attempt."""
    date = now.astimezone(UTC).date().isoformat()
    add(session, date=date, type_=WEBHOOKS, key_id="", operation=subscription_id, quantity=1)


def last_uses(session: Session, key_ids: Sequence[str]) -> dict[str, datetime]:
    """Return when each of these keys was last used, where it ever was."""
    rows = session.execute(
        select(KeyUse.key_id, KeyUse.last_used_at).where(KeyUse.key_id.in_(key_ids))
    )
    return dict(rows.tuples().all())


def calls_by_key(session: Session, period: str) -> dict[str, int]:
    """Return the calls of each key in a billing period."""
    rows = session.execute(
        select(UsageRecord.key_id, func.sum(UsageRecord.quantity))
        .where(
            UsageRecord.type == CALLS,
            UsageRecord.date >= first_day(period),
            UsageRecord.date < first_day_after(period),
        )
        .group_by(UsageRecord.key_id)
    )
    return {key_id: round(quantity) for key_id, quantity in rows.tuples()}
