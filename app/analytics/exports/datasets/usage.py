"""Dataset `usage`: one row for each day, key and operation."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.exports.datasets.columns import Row, columns
from app.analytics.exports.request import ExportRequest
from app.usage.models import MeteredKey, UsageRecord
from app.usage.plan import UNITS, UsageMetric, in_unit

COLUMNS = columns("id date type key_id key_name operation quantity:number unit")


def rows(session: Session, request: ExportRequest) -> list[Row]:
    """Return the records of the days, in UTC, of the period, the oldest first."""
    statement = (
        select(UsageRecord, MeteredKey.name)
        .outerjoin(MeteredKey, MeteredKey.key_id == UsageRecord.key_id)
        .where(UsageRecord.quantity > 0)
        .order_by(UsageRecord.date, UsageRecord.id)
    )
    if request.start is not None:
        statement = statement.where(UsageRecord.date >= request.start.date().isoformat())
    if request.end is not None:
        statement = statement.where(UsageRecord.date < request.end.isoformat())
    return [_row(record, name) for record, name in session.execute(statement)]


def _row(record: UsageRecord, name: str | None) -> Sequence[str | float | None]:
    metric = UsageMetric(record.type)
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
