"""Claims: takes due deliveries under a lease, and meters those that are tried for the first time."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import Select, case, func, literal_column, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.events.models import Event
from app.usage.service import count_delivery
from app.webhooks.enums import DeliveryState, Trigger
from app.webhooks.models import Delivery, Subscription

# Literals, not parameters: SQLite uses a partial index only for a literal.
_PENDING = Delivery.state == literal_column("'pending'")
_DELIVERING = Delivery.state == literal_column("'delivering'")
_TEST = Delivery.trigger == literal_column("'test'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id


@dataclass(frozen=True, slots=True)
class Receiver:
    """The columns of a subscription that sending needs; the secrets are still encrypted.

    Args:
        due_at: when its oldest pending delivery was or is due; None without one.
    """

    id: str
    url: str
    version: int
    active: bool
    secret: str
    previous_secret: str | None
    previous_secret_expires_at: datetime | None
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A delivery that this process sends, as long as the lease token is still the row's.

    Args:
        attempt: number of the attempt that this claim is for, from 1.
        claimed_at: monotonic time at which its lease began, at the latest.
        metered: whether it was metered by this claim, which is its first.
    """

    delivery_id: str
    event_id: str
    lease_token: str
    attempt: int
    max_attempts: int
    trigger: str
    body: bytes
    receiver: Receiver
    claimed_at: float
    metered: bool
    traceparent: str | None


_OLDEST_DUE = select(func.min(Delivery.due_at)).where(_OF_SUBSCRIPTION, _PENDING)
_RECEIVERS = (
    select(
        Subscription.id,
        Subscription.url,
        Subscription.version,
        Subscription.active,
        Subscription.secret,
        Subscription.previous_secret,
        Subscription.previous_secret_expires_at,
        case(
            (Subscription.active, _OLDEST_DUE.correlate(Subscription).scalar_subquery()),
            else_=_OLDEST_DUE.where(_TEST).correlate(Subscription).scalar_subquery(),
        ).label("due_at"),
    )
    .where(Subscription.deleted_at.is_(None))
    .order_by(Subscription.id)
)


def list_receivers(session: Session) -> list[Receiver]:
    """List every subscription that is not deleted, with its oldest due time."""
    return [Receiver(*row) for row in session.execute(_RECEIVERS)]


def served_by_others(session: Session, *, owner: str) -> set[str]:
    """Return the ids of the subscriptions of which another sender has claims.

    A receiver belongs to one sender at a time: two would send its events out of order.
    """
    return set(session.scalars(_claimed_by_others(owner).distinct()))


def has_work(session: Session, *, owner: str, now: datetime) -> bool:
    """Whether a delivery is due, or claimed by this owner."""
    if any(
        receiver.due_at is not None and receiver.due_at <= now
        for receiver in list_receivers(session)
    ):
        return True
    claimed = select(Delivery.id).where(_DELIVERING, Delivery.lease_owner == owner).limit(1)
    return session.scalar(claimed) is not None


def claim_due(
    session: Session,
    receiver: Receiver,
    *,
    limit: int,
    now: datetime,
    owner: str,
    lease: timedelta,
) -> list[Claim]:
    """Claim the oldest due deliveries of a receiver, and meter those on their first attempt.

    Nothing is claimed when the subscription has changed since the receiver was read, or when
    another sender has claims of it: the next tick reads it again.
    """
    # Locked, so that of two senders that look at the same time the second one sees the first's claims.
    unchanged = select(Subscription.id).where(
        Subscription.id == receiver.id, Subscription.version == receiver.version
    )
    if session.scalar(unchanged.with_for_update(key_share=True)) is None:
        return []
    others = _claimed_by_others(owner).where(Delivery.subscription_id == receiver.id).limit(1)
    if session.scalar(others) is not None:
        return []
    statement = (
        select(
            Delivery.id,
            Delivery.event_id,
            Delivery.attempts,
            Delivery.max_attempts,
            Delivery.trigger,
            Delivery.metered,
            Event.body,
            Event.traceparent,
        )
        .join(Event, Event.id == Delivery.event_id)
        .where(
            Delivery.subscription_id == receiver.id,
            _PENDING,
            Delivery.due_at <= now,
        )
        .order_by(Delivery.due_at, Delivery.id)
        .limit(limit)
        .with_for_update(skip_locked=True, of=Delivery)
    )
    rows = session.execute(statement if receiver.active else statement.where(_TEST)).all()
    if not rows:
        return []
    lease_token = uuid4().hex
    # Not from `now`: this transaction may have waited long for other writers.
    claimed_at, lease_until = time.monotonic(), utc_now() + lease
    session.execute(
        update(Delivery)
        .where(Delivery.id.in_([row.id for row in rows]))
        .values(
            state=DeliveryState.DELIVERING,
            attempts=Delivery.attempts + 1,
            metered=or_(Delivery.metered, Delivery.trigger == Trigger.EVENT),
            lease_token=lease_token,
            lease_owner=owner,
            lease_until=lease_until,
        )
        .execution_options(synchronize_session=False)
    )
    claims = [
        Claim(
            delivery_id=row.id,
            event_id=row.event_id,
            lease_token=lease_token,
            attempt=row.attempts + 1,
            max_attempts=row.max_attempts,
            trigger=row.trigger,
            body=row.body,
            receiver=receiver,
            claimed_at=claimed_at,
            metered=row.trigger == Trigger.EVENT and not row.metered,
            traceparent=row.traceparent,
        )
        for row in rows
    ]
    if metered := sum(claim.metered for claim in claims):
        count_delivery(session, subscription_id=receiver.id, now=now, count=metered)
    return claims


def _claimed_by_others(owner: str) -> Select[str]:
    # Not `!=`, for which there is no index.
    is_other = or_(Delivery.lease_owner < owner, Delivery.lease_owner > owner)
    return select(Delivery.subscription_id).where(_DELIVERING, is_other)
