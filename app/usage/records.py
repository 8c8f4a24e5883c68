"""Writing usage records: additions and daily peaks, in SQL, safe beside other writers."""

from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.core.ids import new_id
from app.usage.models import MeteredKey, UsageRecord

CALLS, WEBHOOKS, STORAGE_GB = "calls", "webhooks", "storage_gb"
_DAY = ("date", "type", "key_id", "operation")


def upsert_into(session: Session, table: Any) -> Any:
    """Return an INSERT of this database that can say ON CONFLICT."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def add(
    session: Session, *, date: str, type_: str, key_id: str, operation: str, quantity: float
) -> None:
    """Add to the record of a day."""
    statement = _one(session, date, type_, key_id, operation, quantity)
    added = UsageRecord.quantity + statement.excluded.quantity
    session.execute(statement.on_conflict_do_update(index_elements=_DAY, set_={"quantity": added}))


def note_peak(session: Session, *, date: str, type_: str, quantity: float) -> None:
    """Raise the record of a day to this quantity if it was lower."""
    statement = _one(session, date, type_, "", "storage", quantity)
    lower = UsageRecord.quantity < statement.excluded.quantity
    session.execute(
        statement.on_conflict_do_update(
            index_elements=_DAY, set_={"quantity": statement.excluded.quantity}, where=lower
        )
    )


def note_use(session: Session, key_id: str, moment: datetime) -> None:
    """Move the last use of a key forward, never back."""
    earlier = MeteredKey.last_used_at.is_(None) | (MeteredKey.last_used_at < moment)
    session.execute(
        update(MeteredKey)
        .where(MeteredKey.key_id == key_id, earlier)
        .values(last_used_at=moment)
        .execution_options(synchronize_session=False)
    )


def _one(
    session: Session, date: str, type_: str, key_id: str, operation: str, quantity: float
) -> Any:
    return upsert_into(session, UsageRecord).values(
        id=new_id("use"),
        date=date,
        type=type_,
        key_id=key_id,
        operation=operation,
        quantity=quantity,
    )
