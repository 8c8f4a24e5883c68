"""Quota warnings: published once for each metric and billing period that reaches the threshold.

Warnings follow from usage records, which are durable: each check publishes whatever is due, so that
no warning is lost and writers of records need not know the plan.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database.upserts import insert_missing
from app.events.catalogue import EventType
from app.events.outbox import publish
from app.events.payloads import UsageQuotaWarning
from app.usage.metrics import UsageMetric, in_unit
from app.usage.models import QuotaWarning
from app.usage.periods import period_before, period_of
from app.usage.plan import Plan
from app.usage.reports import totals

THRESHOLD_PERCENT = 80
# Records that are written late may still reach the threshold of the previous period.
_LOOK_BACK_DAYS = 7


@dataclass(frozen=True, slots=True)
class DueWarning:
    """A metric that has reached the threshold in a period."""

    period: str
    metric: UsageMetric
    used: int
    included: int


def due_warnings(session: Session, plan: Plan, now: datetime) -> list[DueWarning]:
    """List the warnings that are due and not published; reads only."""
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
        DueWarning(period, metric, used, plan.included[metric])
        for period in periods
        for metric, used in totals(session, period).items()
        if has_reached(used, plan.included[metric]) and (period, metric) not in published
    ]


def has_reached(used: int, included: int) -> bool:
    """Whether usage is at the threshold; never if the plan includes nothing."""
    return included > 0 and used * 100 >= included * THRESHOLD_PERCENT


def warn(session: Session, plan: Plan, now: datetime) -> int:
    """Publish the warnings that are due and return their number. Safe at any time."""
    return sum(_publish_once(session, warning, now) for warning in due_warnings(session, plan, now))


def _publish_once(session: Session, warning: DueWarning, now: datetime) -> bool:
    key = {"billing_period": warning.period, "metric": warning.metric}
    if not insert_missing(session, QuotaWarning, **key, published_at=now):
        return False
    publish(
        session,
        EventType.USAGE_QUOTA_WARNING,
        UsageQuotaWarning(
            billing_period=warning.period,
            metric=warning.metric.value,
            used=in_unit(warning.metric, warning.used),
            included=in_unit(warning.metric, warning.included),
            percent=warning.used * 100 // warning.included,
            threshold_percent=THRESHOLD_PERCENT,
        ),
    )
    return True
