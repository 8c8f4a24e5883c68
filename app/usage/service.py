"""Usage records, as the meter and other packages write them, safe with concurrent writers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.core.database.upserts import upsert_into
from app.core.ids import new_id
from app.usage.models import MeteredKey, UsageRecord
from app.usage.plan import UsageMetric, date_bounds, date_of, period_of, whole_steps

_DAY = ("date", "type", "key_id", "operation")
_STORAGE = "storage"


@dataclass(frozen=True, slots=True, order=True)
class Addition:
    """A quantity to add to one record. Additions sort like the unique index of the records."""

    date: str
    metric: UsageMetric
    key_id: str
    operation: str
    quantity: int


def add(session: Session, additions: Iterable[Addition]) -> None:
    """Add quantities to the records.

    Rows are written in the order of their index, so that two writers cannot deadlock.
    """
    rows = [
        {
            "id": new_id("use"),
            "date": addition.date,
            "type": addition.metric.value,
            "key_id": addition.key_id,
            "operation": addition.operation,
            "quantity": addition.quantity,
        }
        for addition in sorted(additions)
    ]
    if not rows:
        return
    statement = upsert_into(session, UsageRecord)
    total = UsageRecord.quantity + statement.excluded.quantity
    session.connection().execute(
        statement.on_conflict_do_update(index_elements=_DAY, set_={"quantity": total}), rows
    )


def count_deliveries(session: Session, *, subscription_id: str, now: datetime, count: int) -> None:
    """Count webhook deliveries, each once with its first attempt; a negative count takes some back.

    Counted in the caller's transaction, together with the mark that the delivery is counted.
    """
    add(session, [Addition(date_of(now), UsageMetric.WEBHOOKS, "", subscription_id, count)])


def note_storage(session: Session, *, size_bytes: int, now: datetime) -> None:
    """Record the total size of the storage; only the peak of a period is stored."""
    size, period = whole_steps(size_bytes), period_of(now)
    if size <= _stored(session, period):
        return
    # Concurrent writers lock this row first, so that the second one sees what the first added.
    first_day, _ = date_bounds(period)
    add(session, [Addition(first_day, UsageMetric.STORAGE_GB, "", _STORAGE, 0)])
    growth = size - _stored(session, period)
    if growth > 0:
        add(session, [Addition(date_of(now), UsageMetric.STORAGE_GB, "", _STORAGE, growth)])


def name_key(session: Session, *, key_id: str, name: str) -> None:
    key = session.get(MeteredKey, key_id)
    if key is None:
        session.add(MeteredKey(key_id=key_id, name=name))
    else:
        key.name = name


def note_uses(session: Session, last_used: Mapping[str, datetime]) -> None:
    """Move the last use of keys forward, never back. A key without a name is named by its id."""
    if not last_used:
        return
    statement = upsert_into(session, MeteredKey)
    later = statement.excluded.last_used_at
    earlier = or_(MeteredKey.last_used_at.is_(None), MeteredKey.last_used_at < later)
    session.connection().execute(
        statement.on_conflict_do_update(
            index_elements=["key_id"], set_={"last_used_at": later}, where=earlier
        ),
        [
            {"key_id": key_id, "name": key_id, "last_used_at": moment}
            for key_id, moment in sorted(last_used.items())
        ],
    )


def last_uses(session: Session, key_ids: Sequence[str]) -> dict[str, datetime | None]:
    rows = session.execute(
        select(MeteredKey.key_id, MeteredKey.last_used_at).where(MeteredKey.key_id.in_(key_ids))
    )
    return dict(rows.all())


def _stored(session: Session, period: str) -> int:
    """Return the sum of the storage records of a period, which is its peak so far."""
    total = session.scalar(
        select(func.sum(UsageRecord.quantity)).where(
            UsageRecord.type == UsageMetric.STORAGE_GB,
            UsageRecord.date.between(*date_bounds(period)),
        )
    )
    return int(total or 0)
