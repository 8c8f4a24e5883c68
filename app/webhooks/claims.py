"""What is due, and who sends it: claims with a lease, handed back or taken over after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    and_,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from app.core import owner
from app.events.models import Event
from app.usage.service import count_delivery
from app.webhooks.models import Delivery, DeliveryState, Subscription, Trigger

# Literals, not parameters: with these SQLite knows that a partial index will do.
_PENDING = Delivery.state == literal_column("'pending'")
_DELIVERING = Delivery.state == literal_column("'delivering'")
_TEST = Delivery.trigger == literal_column("'test'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id

# A living owner on this host keeps its claims, whatever the clock says; a stuck one not for ever.
_STUCK_AFTER = timedelta(minutes=10)
_FREE_INTERRUPTIONS = 5
_MAX_PAUSE_S = 60


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
    """

    delivery_id: str
    event_id: str
    token: str
    attempt: int
    max_attempts: int
    trigger: str
    body: bytes
    receiver: Receiver


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
        .where(Delivery.subscription_id == receiver.id, _PENDING, Delivery.due_at <= now)
        .order_by(Delivery.due_at, Delivery.id)
        .limit(limit)
        .with_for_update(skip_locked=True, of=Delivery)
    )
    rows = session.execute(statement if receiver.active else statement.where(_TEST)).all()
    if not rows:
        return []
    token = uuid4().hex
    session.execute(
        update(Delivery)
        .where(Delivery.id.in_([row.id for row in rows]))
        .values(
            state=DeliveryState.DELIVERING,
            attempts=Delivery.attempts + 1,
            metered=or_(Delivery.metered, Delivery.trigger == Trigger.EVENT),
            lease_token=token,
            lease_owner=holder,
            lease_until=now + lease,
        )
        .execution_options(synchronize_session=False)
    )
    for row in rows:
        if row.trigger == Trigger.EVENT and not row.metered:
            count_delivery(session, subscription_id=receiver.id, now=now)
    return [
        Claim(
            delivery_id=row.id,
            event_id=row.event_id,
            token=token,
            attempt=row.attempts + 1,
            max_attempts=row.max_attempts,
            trigger=row.trigger,
            body=row.body,
            receiver=receiver,
        )
        for row in rows
    ]


def hand_back(session: Session, claims: Sequence[Claim]) -> None:
    """Return claims that were not sent, or not to an end: as if they had never been taken."""
    _free(
        session,
        and_(
            Delivery.id.in_([each.delivery_id for each in claims]),
            Delivery.lease_token.in_({each.token for each in claims}),
        ),
    )


@dataclass(frozen=True, slots=True)
class Lost:
    """A delivery whose sender was killed, or has lost its lease."""

    delivery_id: str
    token: str
    interruptions: int


def lost(session: Session, *, holder: str, held: set[str], now: datetime) -> list[Lost]:
    """List what no living sender will finish.

    Args:
        held: ids that this process has in hand; another of its own was claimed in a commit whose
            answer did not arrive.
    """
    rows = session.execute(
        select(
            Delivery.id,
            Delivery.lease_token,
            Delivery.interruptions,
            Delivery.lease_owner,
            Delivery.lease_until,
        )
        .where(_DELIVERING)
        .order_by(Delivery.id)
    ).all()
    others = {row.lease_owner for row in rows} - {holder}
    ended = {each for each in others if owner.is_dead(each)}
    living = {each for each in others if owner.is_alive(each)}
    return [
        Lost(row.id, row.lease_token, row.interruptions)
        for row in rows
        if row.id not in held
        and (
            row.lease_owner in ended
            or now > row.lease_until + (_STUCK_AFTER if row.lease_owner in living else timedelta())
        )
    ]


def take_over(session: Session, found: Sequence[Lost], *, now: datetime) -> None:
    """Make what a crash cut off due again, with the same attempt number.

    It is not counted: a receiver gets its three attempts. From the fifth interruption on it rests
    a while, in case that it is what brings its sender down.
    """
    for each in found:
        beyond = max(0, each.interruptions + 1 - _FREE_INTERRUPTIONS)
        pause_s = min(2**beyond, _MAX_PAUSE_S) if beyond else 0
        _free(
            session,
            and_(Delivery.id == each.delivery_id, Delivery.lease_token == each.token),
            interruptions=Delivery.interruptions + 1,
            due_at=now + timedelta(seconds=pause_s),
        )


def _free(session: Session, held: ColumnElement[bool], **values: Any) -> None:
    gone = exists().where(_OF_SUBSCRIPTION, Subscription.deleted_at.is_not(None))
    session.execute(
        update(Delivery)
        .where(held, _DELIVERING)
        .values(
            state=case((gone, DeliveryState.CANCELED), else_=DeliveryState.PENDING),
            attempts=Delivery.attempts - 1,
            lease_token=None,
            lease_owner=None,
            lease_until=None,
            **values,
        )
        .execution_options(synchronize_session=False)
    )
