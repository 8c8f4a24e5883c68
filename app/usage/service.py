"""What is read from usage, and what other rooms report to it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.usage.models import MeteredKey, UsageRecord
from app.usage.periods import first_day, first_day_after
from app.usage.records import CALLS, WEBHOOKS, add


def count_delivery(session: Session, *, subscription_id: str, now: datetime) -> None:
    """Count one webhook delivery; call it once, with the delivery's first attempt."""
    date = now.astimezone(UTC).date().isoformat()
    add(session, date=date, type_=WEBHOOKS, key_id="", operation=subscription_id, quantity=1)


def name_key(session: Session, *, key_id: str, name: str) -> None:
    """Tell usage of a key, or of its new name."""
    known = session.get(MeteredKey, key_id)
    if known is None:
        session.add(MeteredKey(key_id=key_id, name=name))
    else:
        known.name = name


def last_uses(session: Session, key_ids: Sequence[str]) -> dict[str, datetime | None]:
    """Return when each of these keys was last used."""
    rows = session.execute(
        select(MeteredKey.key_id, MeteredKey.last_used_at).where(MeteredKey.key_id.in_(key_ids))
    )
    return dict(rows.all())


def usage_by_key(session: Session, period: str) -> list[dict[str, Any]]:
    """List every key, used or not, with its calls in a billing period, most calls first."""
    calls = (
        select(UsageRecord.key_id, func.sum(UsageRecord.quantity).label("quantity"))
        .where(
            UsageRecord.type == CALLS,
            UsageRecord.date >= first_day(period),
            UsageRecord.date < first_day_after(period),
        )
        .group_by(UsageRecord.key_id)
        .subquery()
    )
    rows = session.execute(
        select(MeteredKey, calls.c.quantity)
        .outerjoin(calls, calls.c.key_id == MeteredKey.key_id)
        .order_by(func.coalesce(calls.c.quantity, 0).desc(), MeteredKey.key_id)
    )
    return [
        {
            "key_id": key.key_id,
            "name": key.name,
            "calls": round(quantity or 0),
            "last_used_at": key.last_used_at,
        }
        for key, quantity in rows
    ]
