"""Quotas: the warning that usage nears what the plan includes, once a metric and period.

The warning follows from records that are durable, so nothing can be lost: whoever looks next finds
what was crossed and not yet told. That spares the writers, of whom some know no plan.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.events.catalogue import EventType
from app.events.outbox import publish
from app.events.payloads import UsageQuotaWarning
from app.usage.metrics import Metric, shown
from app.usage.models import QuotaWarning
from app.usage.periods import period_before, period_of
from app.usage.plan import Plan
from app.usage.records import upsert_into
from app.usage.reports import totals

THRESHOLD_PERCENT = 80
# Use that is written late, by a worker that was away, may still cross in the period before.
_LOOK_BACK_DAYS = 7


@dataclass(frozen=True, slots=True)
class Crossing:
    """A metric that has reached the threshold in a period."""

    period: str
    metric: Metric
    used: int
    included: int


def untold(session: Session, plan: Plan, now: datetime) -> list[Crossing]:
    """List what has reached the threshold and was not warned of; reads only."""
    periods = [period_of(now)]
    if now.day <= _LOOK_BACK_DAYS:
        periods.append(period_before(periods[0]))
    told = {
        (row.billing_period, row.metric)
        for row in session.scalars(
            select(QuotaWarning).where(QuotaWarning.billing_period.in_(periods))
        )
    }
    return [
        Crossing(period, metric, used, plan.included[metric])
        for period in periods
        for metric, used in totals(session, period).items()
        if has_reached(used, plan.included[metric]) and (period, metric) not in told
    ]


def has_reached(used: int, included: int) -> bool:
    """Whether usage is at the threshold; of nothing included there is no share to reach."""
    return included > 0 and used * 100 >= included * THRESHOLD_PERCENT


def warn(session: Session, plan: Plan, now: datetime) -> int:
    """Publish the warnings that are due; return how many. Safe to call at any time, by anybody."""
    return sum(_tell(session, crossing, now) for crossing in untold(session, plan, now))


def _tell(session: Session, crossing: Crossing, now: datetime) -> bool:
    claim = upsert_into(session, QuotaWarning).values(
        billing_period=crossing.period, metric=crossing.metric, published_at=now
    )
    won = session.execute(claim.on_conflict_do_nothing().returning(QuotaWarning.metric)).first()
    if won is None:
        return False
    publish(
        session,
        EventType.USAGE_QUOTA_WARNING,
        UsageQuotaWarning(
            billing_period=crossing.period,
            metric=crossing.metric.value,
            used=shown(crossing.metric, crossing.used),
            included=shown(crossing.metric, crossing.included),
            percent=crossing.used * 100 // crossing.included,
            threshold_percent=THRESHOLD_PERCENT,
        ),
    )
    return True
