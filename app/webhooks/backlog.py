"""Backlog of deliveries: those that are due, and those that are being sent."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, literal_column, select
from sqlalchemy.orm import Session

from app.webhooks.models import Delivery, Subscription


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """Due deliveries of active webhooks; `oldest_at` is when the first of them became due."""

    waiting: int
    running: int
    oldest_at: datetime | None


def due(session: Session, now: datetime) -> DueDeliveries:
    """Count the deliveries that wait though they are due, and those in flight."""
    row = session.execute(
        select(func.count().label("waiting"), func.min(Delivery.due_at).label("oldest"))
        .join(Subscription, Subscription.id == Delivery.subscription_id)
        # Written literally: the partial indexes match no parameter.
        .where(Subscription.active, Delivery.state == literal_column("'pending'"))
        .where(Subscription.deleted_at.is_(None), Delivery.due_at <= now)
    ).one()
    running = session.scalar(
        select(func.count(Delivery.id)).where(Delivery.state == literal_column("'delivering'"))
    )
    return DueDeliveries(row.waiting, running or 0, row.oldest)
