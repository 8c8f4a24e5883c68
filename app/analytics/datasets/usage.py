"""The dataset `usage`: a row for each day, key and operation."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.datasets.cells import Row, columns
from app.analytics.wishes import Wish
from app.usage.metrics import UNITS, Metric, in_unit
from app.usage.models import MeteredKey, UsageRecord

COLUMNS = columns("id date type key_id key_name operation quantity:number unit")


def rows(session: Session, wish: Wish) -> list[Row]:
    """Return the records of the days (in UTC) on which the period lies, the oldest first."""
    wanted = (
        select(UsageRecord, MeteredKey.name)
        .outerjoin(MeteredKey, MeteredKey.key_id == UsageRecord.key_id)
        .where(UsageRecord.quantity > 0)
        .order_by(UsageRecord.date, UsageRecord.id)
    )
    if wish.start is not None:
        wanted = wanted.where(UsageRecord.date >= wish.start.date().isoformat())
    if wish.end is not None:
        wanted = wanted.where(UsageRecord.date < wish.end.isoformat())
    return [_row(record, name) for record, name in session.execute(wanted)]


def _row(record: UsageRecord, name: str | None) -> Sequence[str | float | None]:
    metric = Metric(record.type)
    return (
        record.id,
        record.date,
        metric.value,
        record.key_id or None,
        name,
        record.operation,
        in_unit(metric, record.quantity),
        UNITS[metric],
    )
