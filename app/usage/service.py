"""Usage as other packages report and read it."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.usage.metrics import UsageMetric, whole_steps
from app.usage.models import MeteredKey
from app.usage.periods import date_of, period_of
from app.usage.records import Addition, add, raise_peak


def count_delivery(
    session: Session, *, subscription_id: str, now: datetime, count: int = 1
) -> None:
    """Count webhook deliveries, each once, with its first attempt.

    Counted in the caller's transaction, together with the mark that the delivery is counted.
    """
    add(session, [Addition(date_of(now), UsageMetric.WEBHOOKS, "", subscription_id, count)])


def note_storage(session: Session, *, size_bytes: int, now: datetime) -> None:
    """Record the total size of the storage; only the peak of a period is stored."""
    raise_peak(session, period=period_of(now), date=date_of(now), quantity=whole_steps(size_bytes))


def name_key(session: Session, *, key_id: str, name: str) -> None:
    """Set the name of a key in reports of usage."""
    key = session.get(MeteredKey, key_id)
    if key is None:
        session.add(MeteredKey(key_id=key_id, name=name))
    else:
        key.name = name


def last_uses(session: Session, key_ids: Sequence[str]) -> dict[str, datetime | None]:
    """Return the last use of each of these keys."""
    rows = session.execute(
        select(MeteredKey.key_id, MeteredKey.last_used_at).where(MeteredKey.key_id.in_(key_ids))
    )
    return dict(rows.all())
