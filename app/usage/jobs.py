"""Periodic tasks of usage: quota warnings, and tidying of the meter.

Each may run twice, or in two processes at the same time.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.upserts import insert_missing
from app.core.runtime import Runtime
from app.events.catalogue import EventType
from app.events.data import UsageQuotaWarning
from app.events.outbox import publish
from app.usage import meter
from app.usage.models import QuotaWarning
from app.usage.plan import Plan, UsageMetric, in_unit, period_before, period_of, plan_of
from app.usage.reports import totals

_THRESHOLD_PERCENT = 80

# Records that are written late may still reach the threshold of the previous period.
_LOOK_BACK_DAYS = 7


@dataclass(frozen=True, slots=True)
class _DueWarning:
    period: str
    metric: UsageMetric
    used: int
    included: int


def check_quotas(runtime: Runtime) -> None:
    """Publish the quota warnings that are due, each once; writes only if there are any.

    Warnings follow from usage records, which are durable: no warning is lost, and writers of
    records need not know the plan.
    """
    now = utc_now()
    with runtime.db.reading() as session:
        due = _due_warnings(session, plan_of(runtime.settings), now)
    if due:
        with runtime.db.writing() as session:
            for warning in due:
                _publish_once(session, warning, now)


def has_reached(used: int, included: int) -> bool:
    """Return whether usage is at the threshold; never if the plan includes nothing."""
    return included > 0 and used * 100 >= included * _THRESHOLD_PERCENT


def _due_warnings(session: Session, plan: Plan, now: datetime) -> list[_DueWarning]:
    periods = [period_of(now)]
    if now.day <= _LOOK_BACK_DAYS:
        periods.append(period_before(periods[0]))
    published = {
        (row.billing_period, row.metric)
        for row in session.scalars(
            select(QuotaWarning).where(QuotaWarning.billing_period.in_(periods))
        )
    }
    return [
        _DueWarning(period, metric, used, plan.included[metric])
        for period in periods
        for metric, used in totals(session, period).items()
        if has_reached(used, plan.included[metric]) and (period, metric) not in published
    ]


def _publish_once(session: Session, warning: _DueWarning, now: datetime) -> None:
    key = {"billing_period": warning.period, "metric": warning.metric}
    if not insert_missing(session, QuotaWarning, **key, published_at=now):
        return
    publish(
        session,
        EventType.USAGE_QUOTA_WARNING,
        UsageQuotaWarning(
            billing_period=warning.period,
            metric=cast("Any", warning.metric.value),
            used=in_unit(warning.metric, warning.used),
            included=in_unit(warning.metric, warning.included),
            percent=warning.used * 100 // warning.included,
            threshold_percent=_THRESHOLD_PERCENT,
        ),
    )


def purge_batches(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        meter.purge(session, utc_now())
