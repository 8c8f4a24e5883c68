"""Reports of usage: the summary, the details and the calls of each key.

All three read the same records, those above 0, so that they agree exactly.
"""

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from app.core.database.paging import Page, PageRequest, select_page
from app.core.json_documents import camel_case
from app.usage.models import MeteredKey, UsageRecord
from app.usage.plan import UNITS, Plan, UsageMetric, compared, date_bounds, in_unit

_DETAILS = select(
    UsageRecord.id,
    UsageRecord.date,
    UsageRecord.type,
    UsageRecord.key_id,
    MeteredKey.name,
    UsageRecord.operation,
    UsageRecord.quantity,
).outerjoin(MeteredKey, MeteredKey.key_id == UsageRecord.key_id)


def totals_of(period: str) -> Select[str, int]:
    """Build the query for the totals of a period; an index covers it."""
    return (
        select(UsageRecord.type, func.sum(UsageRecord.quantity))
        .where(*_counted(period))
        .group_by(UsageRecord.type)
    )


def totals(session: Session, period: str) -> dict[UsageMetric, int]:
    """Return the total of each metric in a period: calls, deliveries, bytes."""
    total_by_metric = {
        UsageMetric(type_): int(total) for type_, total in session.execute(totals_of(period))
    }
    return {metric: total_by_metric.get(metric, 0) for metric in UsageMetric}


def summary(session: Session, period: str, plan: Plan) -> dict[str, Any]:
    used = totals(session, period)
    return {
        "billing_period": period,
        "tier": plan.tier,
        "usage": {
            metric.value: compared(metric, used[metric], plan.included[metric])
            for metric in UsageMetric
        },
    }


def list_details(
    session: Session,
    period: str,
    request: PageRequest,
    *,
    metric: UsageMetric | None,
    key_id: str | None,
) -> Page[dict[str, Any]]:
    """List the records of a period: one for each day, key and operation, newest day first."""
    criteria = [] if key_id is None else [UsageRecord.key_id == key_id]
    count = select(func.count()).select_from(UsageRecord)
    total_count = session.scalar(count.where(*_counted(period, metric), *criteria)) or 0
    if metric is not None:
        criteria.append(UsageRecord.type == metric)
    page = select_page(
        session,
        _DETAILS.where(*_in(period), *criteria),
        request,
        sortable={"date": UsageRecord.date},
        tail=UsageRecord.id,
        total_count=total_count,
    )
    return replace(page, items=[_record(row, period) for row in page.items])


def by_key(session: Session, period: str) -> list[dict[str, Any]]:
    """List all keys, used or not, with their calls in a period, most calls first."""
    calls = (
        select(UsageRecord.key_id, func.sum(UsageRecord.quantity).label("quantity"))
        .where(*_counted(period, UsageMetric.CALLS))
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
            "calls": int(quantity or 0),
            "last_used_at": key.last_used_at,
        }
        for key, quantity in rows
    ]


def _counted(period: str, metric: UsageMetric | None = None) -> list[ColumnElement[bool]]:
    # The index starts with the type: with a condition on it, even for all types, it is used.
    return [UsageRecord.type.in_([metric] if metric else list(UsageMetric)), *_in(period)]


def _in(period: str) -> list[ColumnElement[bool]]:
    return [UsageRecord.date.between(*date_bounds(period)), UsageRecord.quantity > 0]


def _record(row: Any, period: str) -> dict[str, Any]:
    metric = UsageMetric(row["type"])
    is_call = metric == UsageMetric.CALLS
    return {
        "id": row["id"],
        "billing_period": period,
        "date": row["date"],
        "type": metric.value,
        "key_id": row["key_id"] or None,
        "key_name": row["name"],
        # Of a call, the operation id in the OpenAPI document.
        "operation": camel_case(row["operation"]) if is_call else row["operation"],
        "quantity": in_unit(metric, row["quantity"]),
        "unit": UNITS[metric],
        # Usage that is not billed is not metered: tests, redeliveries, calls that failed with 5xx.
        "billable": True,
    }
