"""What other rooms report to usage, and what they ask of it."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.usage.metrics import Metric, whole_steps
from app.usage.models import MeteredKey
from app.usage.periods import date_of, period_of
from app.usage.records import Addition, add, raise_peak


def count_delivery(
    session: Session, *, subscription_id: str, now: datetime, count: int = 1
) -> None:
    """Count webhook deliveries; call it once for each, with its first attempt.

    It counts in the caller's transaction: with the mark that says so, or not at all.
    """
    add(session, [Addition(date_of(now), Metric.WEBHOOKS, "", subscription_id, count)])


def note_storage(session: Session, *, size_bytes: int, now: datetime) -> None:
    """Note how much is stored in all, as often as it may have changed; only peaks are kept."""
    raise_peak(session, period=period_of(now), date=date_of(now), quantity=whole_steps(size_bytes))


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
