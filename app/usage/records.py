"""Writing usage records: additions and peaks, in SQL, safe beside other writers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.core.ids import new_id
from app.usage.metrics import Metric
from app.usage.models import MeteredKey, UsageRecord
from app.usage.periods import bounds, first_day

_DAY = ("date", "type", "key_id", "operation")
_STORAGE = "storage"


@dataclass(frozen=True, slots=True, order=True)
class Addition:
    """So much more in one record; the order is that of the records' unique index."""

    date: str
    metric: Metric
    key_id: str
    operation: str
    quantity: int


def upsert_into(session: Session, table: Any) -> Any:
    """Return an INSERT of this database that can say ON CONFLICT."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def add(session: Session, additions: Iterable[Addition]) -> None:
    """Add to the records of their days.

    Written in the order of the index: two writers that take the same rows cannot block each other.
    """
    rows = [
        {
            "id": new_id("use"),
            "date": each.date,
            "type": each.metric.value,
            "key_id": each.key_id,
            "operation": each.operation,
            "quantity": each.quantity,
        }
        for each in sorted(additions)
    ]
    if not rows:
        return
    statement = upsert_into(session, UsageRecord)
    more = UsageRecord.quantity + statement.excluded.quantity
    session.connection().execute(
        statement.on_conflict_do_update(index_elements=_DAY, set_={"quantity": more}), rows
    )


def raise_peak(session: Session, *, period: str, date: str, quantity: int) -> None:
    """Make the storage records of a period sum up to this quantity, if they sum up to less."""
    if quantity <= _stored(session, period):
        return
    # Whoever raises a peak touches this row first and so waits for whoever does it already.
    add(session, [Addition(first_day(period), Metric.STORAGE_GB, "", _STORAGE, 0)])
    growth = quantity - _stored(session, period)
    if growth > 0:
        add(session, [Addition(date, Metric.STORAGE_GB, "", _STORAGE, growth)])


def note_uses(session: Session, last_used: Mapping[str, datetime]) -> None:
    """Move the last use of keys forward, never back; a key that nobody named goes by its id."""
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


def _stored(session: Session, period: str) -> int:
    total = session.scalar(
        select(func.sum(UsageRecord.quantity)).where(
            UsageRecord.type == Metric.STORAGE_GB, UsageRecord.date.between(*bounds(period))
        )
    )
    return int(total or 0)
