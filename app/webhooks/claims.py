"""What is due, and who sends it: deliveries claimed with a lease, metered when tried first."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import case, func, literal_column, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.events.models import Event
from app.usage.service import count_delivery
from app.webhooks.models import Delivery, DeliveryState, Subscription, Trigger

# Literals, not parameters: with these SQLite knows that a partial index will do.
_PENDING = Delivery.state == literal_column("'pending'")
_DELIVERING = Delivery.state == literal_column("'delivering'")
_TEST = Delivery.trigger == literal_column("'test'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id


@dataclass(frozen=True, slots=True)
class Receiver:
    """A subscription as a claim needs it, with its oldest due moment; secrets still sealed."""

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
    """A delivery that this process sends, as long as the token is the row's.

    Args:
        attempt: number of the attempt that this claim is for, from 1.
        taken_at: the monotonic moment from which on its lease runs, at the earliest.
        metered: whether it was metered with this claim, which is its first.
    """

    delivery_id: str
    event_id: str
    token: str
    attempt: int
    max_attempts: int
    trigger: str
    body: bytes
    receiver: Receiver
    taken_at: float
    metered: bool


_OLDEST = select(func.min(Delivery.due_at)).where(_OF_SUBSCRIPTION, _PENDING)
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
            (Subscription.active, _OLDEST.correlate(Subscription).scalar_subquery()),
            else_=_OLDEST.where(_TEST).correlate(Subscription).scalar_subquery(),
        ).label("due_at"),
    )
    .where(Subscription.deleted_at.is_(None))
    .order_by(Subscription.id)
)


def receivers(session: Session) -> list[Receiver]:
    """List every subscription with the oldest moment at which something was or is due to it."""
    return [Receiver(*row) for row in session.execute(_RECEIVERS)]


def is_busy(session: Session, *, holder: str, now: datetime) -> bool:
    """Whether something is due, or this holder has something in hand."""
    if any(each.due_at is not None and each.due_at <= now for each in receivers(session)):
        return True
    in_hand = select(Delivery.id).where(_DELIVERING, Delivery.lease_owner == holder).limit(1)
    return session.scalar(in_hand) is not None


def claim(
    session: Session,
    receiver: Receiver,
    *,
    limit: int,
    now: datetime,
    holder: str,
    lease: timedelta,
) -> list[Claim]:
    """Take the oldest due deliveries of a receiver, and meter those that are tried first now."""
    statement = (
        select(
            Delivery.id,
            Delivery.event_id,
            Delivery.attempts,
            Delivery.max_attempts,
            Delivery.trigger,
            Delivery.metered,
            Event.body,
        )
        .join(Event, Event.id == Delivery.event_id)
        .join(Subscription, _OF_SUBSCRIPTION)
        .where(
            Delivery.subscription_id == receiver.id,
            # What was read may have changed since: then the next turn claims.
            Subscription.version == receiver.version,
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
    token = uuid4().hex
    # Not from `now`: the wait for other writers may have been long.
    taken_at, lease_until = time.monotonic(), utc_now() + lease
    session.execute(
        update(Delivery)
        .where(Delivery.id.in_([row.id for row in rows]))
        .values(
            state=DeliveryState.DELIVERING,
            attempts=Delivery.attempts + 1,
            metered=or_(Delivery.metered, Delivery.trigger == Trigger.EVENT),
            lease_token=token,
            lease_owner=holder,
            lease_until=lease_until,
        )
        .execution_options(synchronize_session=False)
    )
    taken = [
        Claim(
            delivery_id=row.id,
            event_id=row.event_id,
            token=token,
            attempt=row.attempts + 1,
            max_attempts=row.max_attempts,
            trigger=row.trigger,
            body=row.body,
            receiver=receiver,
            taken_at=taken_at,
            metered=row.trigger == Trigger.EVENT and not row.metered,
        )
        for row in rows
    ]
    if metered := sum(each.metered for each in taken):
        count_delivery(session, subscription_id=receiver.id, now=now, count=metered)
    return taken
