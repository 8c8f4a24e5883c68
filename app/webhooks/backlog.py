"""Backlog of deliveries: those that are due, those being sent, and those of each subscription."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.webhooks.models import DELIVERING, PENDING, Delivery, Subscription

SUBSCRIPTION_STATUSES = ("healthy", "failing", "inactive", "deactivated")
_OF_SUBSCRIPTION = select(Delivery).where(Delivery.subscription_id == Subscription.id, PENDING)


@dataclass(frozen=True, slots=True)
class SubscriptionBacklog:
    """Pending deliveries of a subscription, those due later included."""

    status: str
    is_active: bool
    pending: int
    oldest_due_at: datetime | None


def due(session: Session, now: datetime) -> tuple[int, int, datetime | None]:
    """Count the deliveries that wait though they are due, and those in flight.

    The third value is when the first of the waiting ones became due.
    """
    row = session.execute(
        select(func.count().label("waiting"), func.min(Delivery.due_at).label("oldest"))
        .join(Subscription, Subscription.id == Delivery.subscription_id)
        .where(Subscription.active, PENDING)
        .where(Subscription.deleted_at.is_(None), Delivery.due_at <= now)
    ).one()
    running = session.scalar(select(func.count(Delivery.id)).where(DELIVERING))
    return row.waiting, running or 0, row.oldest


def by_subscription(session: Session) -> Sequence[SubscriptionBacklog]:
    status = case(
        (Subscription.deactivated_at.is_not(None), "deactivated"),
        (~Subscription.active, "inactive"),
        (Subscription.failing_since.is_not(None), "failing"),
        else_="healthy",
    )
    pending = _OF_SUBSCRIPTION.with_only_columns(func.count(), maintain_column_froms=True)
    oldest = _OF_SUBSCRIPTION.with_only_columns(func.min(Delivery.due_at))
    rows = session.execute(
        select(
            status,
            Subscription.active,
            pending.correlate(Subscription).scalar_subquery(),
            oldest.correlate(Subscription).scalar_subquery(),
        ).where(Subscription.deleted_at.is_(None))
    )
    return [SubscriptionBacklog(*row) for row in rows]
