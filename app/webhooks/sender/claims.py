"""Claims of due deliveries: taken under a lease, released, and reclaimed after a crash."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Select,
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

from app.core.clock import utc_now
from app.core.process import owner as processes
from app.events.models import Event
from app.usage.service import count_deliveries
from app.webhooks import mail_server
from app.webhooks.enums import DeliveryState, TargetKind, Trigger
from app.webhooks.models import DELIVERING, PENDING, Delivery, MailServer, Subscription

_TEST = Delivery.trigger == literal_column("'test'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id
# A process that lives keeps its claims, whatever the clock says; one that is stuck, not for ever.
_STUCK_AFTER = timedelta(minutes=10)
_INTERRUPTIONS_WITHOUT_PAUSE = 5
_LONGEST_PAUSE_S = 60


@dataclass(frozen=True, slots=True)
class Receiver:
    """The columns of a subscription that sending needs; the secrets are still encrypted.

    Args:
        due_at: when its oldest pending delivery was or is due; None without one.
        mail: the server for a receiver of e-mail; None until one is set.
    """

    id: str
    url: str
    version: int
    active: bool
    secret: str
    previous_secret: str | None
    previous_secret_expires_at: datetime | None
    due_at: datetime | None
    kind: str = TargetKind.WEBHOOK
    mail: MailServer | None = None


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


@dataclass(frozen=True, slots=True)
class OrphanedClaim:
    """A delivery whose sender was killed, or has lost its lease."""

    delivery_id: str
    subscription_id: str
    lease_token: str
    interruptions: int


_OLDEST_DUE = select(func.min(Delivery.due_at)).where(_OF_SUBSCRIPTION, PENDING)
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
        Subscription.kind,
    )
    .where(Subscription.deleted_at.is_(None))
    .order_by(Subscription.id)
)
_DUE = (
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
    .where(PENDING)
    .order_by(Delivery.due_at, Delivery.id)
    .with_for_update(skip_locked=True, of=Delivery)
)


def list_receivers(session: Session) -> list[Receiver]:
    """List every subscription that is not deleted, with its oldest due time."""
    rows = session.execute(_RECEIVERS).all()
    has_mail = any(row.kind == TargetKind.EMAIL for row in rows)
    mail = mail_server.known(session) if has_mail else None
    return [Receiver(**row._mapping, mail=mail) for row in rows]


def served_by_others(session: Session, *, owner: str) -> set[str]:
    """Return the ids of the subscriptions of which another sender has claims.

    A receiver belongs to one sender at a time: two would send its events out of order.
    """
    return set(session.scalars(_claimed_by_others(owner).distinct()))


def has_work(session: Session, *, owner: str, now: datetime) -> bool:
    """Return whether a delivery is due, or claimed by this owner."""
    if any(
        receiver.due_at is not None and receiver.due_at <= now
        for receiver in list_receivers(session)
    ):
        return True
    claimed = select(Delivery.id).where(DELIVERING, Delivery.lease_owner == owner).limit(1)
    return session.scalar(claimed) is not None


def claim_due(
    session: Session, receiver: Receiver, *, limit: int, now: datetime, owner: str, lease: timedelta
) -> list[Claim]:
    """Claim the oldest due deliveries of a receiver, and meter those on their first attempt.

    Nothing is claimed when the subscription has changed since the receiver was read, or when
    another sender has claims of it: the next tick reads it again.
    """
    if not _may_claim(session, receiver, owner):
        return []
    due = _DUE.where(Delivery.subscription_id == receiver.id, Delivery.due_at <= now).limit(limit)
    rows = session.execute(due if receiver.active else due.where(_TEST)).all()
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
        count_deliveries(session, subscription_id=receiver.id, now=now, count=metered)
    return claims


def _may_claim(session: Session, receiver: Receiver, owner: str) -> bool:
    # Locked, so that of two senders that look at the same time the second one sees the first's claims.
    unchanged = select(Subscription.id).where(
        Subscription.id == receiver.id, Subscription.version == receiver.version
    )
    if session.scalar(unchanged.with_for_update(key_share=True)) is None:
        return False
    others = _claimed_by_others(owner).where(Delivery.subscription_id == receiver.id).limit(1)
    return session.scalar(others) is None


def release(session: Session, claims: Sequence[Claim]) -> None:
    """Undo claims that were not sent, or whose attempt did not end."""
    _lock_subscriptions(session, {claim.receiver.id for claim in claims})
    held = Delivery.lease_token.in_({claim.lease_token for claim in claims})
    _unmeter(session, and_(held, _is_one_of([claim for claim in claims if claim.metered])))
    _make_pending(session, and_(held, _is_one_of(claims)))


def list_orphaned(
    session: Session, *, owner: str, queued: set[str], now: datetime
) -> list[OrphanedClaim]:
    """List the claims that no living sender will finish.

    Args:
        queued: ids of the deliveries in the queues of this process (the owner). Any other of its
            claims was committed without a confirmation, and is orphaned when its lease ends.
    """
    rows = session.execute(
        select(
            Delivery.id,
            Delivery.subscription_id,
            Delivery.lease_token,
            Delivery.interruptions,
            Delivery.lease_owner,
            Delivery.lease_until,
        )
        .where(DELIVERING)
        # By its partial index: ordered by id, SQLite would read the whole table to avoid a sort.
        .order_by(Delivery.lease_owner)
    ).all()
    others = {row.lease_owner for row in rows} - {owner}
    dead = {other for other in others if processes.is_dead(other)}
    living = {other for other in others if processes.is_alive(other)}
    return [
        OrphanedClaim(row.id, row.subscription_id, row.lease_token, row.interruptions)
        for row in rows
        if row.id not in queued
        and (
            row.lease_owner in dead
            or now > row.lease_until + (_STUCK_AFTER if row.lease_owner in living else timedelta())
        )
    ]


def reclaim(session: Session, orphaned: Sequence[OrphanedClaim], *, now: datetime) -> None:
    """Make orphaned claims due again, with the same attempt number.

    An interrupted attempt is not counted, and its delivery keeps its place among those of its
    receiver. From the fifth interruption on it pauses, up to a minute: it may be the one that
    brings its sender down.
    """
    _lock_subscriptions(session, {claim.subscription_id for claim in orphaned})
    for claim in sorted(orphaned, key=lambda orphan: orphan.delivery_id):
        beyond = max(0, claim.interruptions + 1 - _INTERRUPTIONS_WITHOUT_PAUSE)
        pause = timedelta(seconds=min(2**beyond, _LONGEST_PAUSE_S))
        _make_pending(
            session,
            and_(Delivery.id == claim.delivery_id, Delivery.lease_token == claim.lease_token),
            interruptions=Delivery.interruptions + 1,
            due_at=now + pause if beyond else Delivery.due_at,
        )


def _claimed_by_others(owner: str) -> Select[str]:
    # Not `!=`, for which there is no index.
    is_other = or_(Delivery.lease_owner < owner, Delivery.lease_owner > owner)
    return select(Delivery.subscription_id).where(DELIVERING, is_other)


def _lock_subscriptions(session: Session, subscription_ids: Iterable[str]) -> None:
    """Keep them from being deleted or deactivated meanwhile; SQLite has one writer anyway."""
    session.execute(
        select(Subscription.id)
        .where(Subscription.id.in_(sorted(subscription_ids)))
        .order_by(Subscription.id)
        .with_for_update(read=True)
    )


def _is_one_of(claims: Sequence[Claim]) -> ColumnElement[bool]:
    return Delivery.id.in_([claim.delivery_id for claim in claims])


def _unmeter(session: Session, held: ColumnElement[bool]) -> None:
    """Un-meter released deliveries; the next claim meters them again."""
    statement = update(Delivery).where(held, DELIVERING).values(metered=False)
    statement = statement.execution_options(synchronize_session=False)
    unmetered = Counter(session.scalars(statement.returning(Delivery.subscription_id)))
    for subscription_id, count in sorted(unmetered.items()):
        count_deliveries(session, subscription_id=subscription_id, now=utc_now(), count=-count)


def _make_pending(session: Session, held: ColumnElement[bool], **values: Any) -> None:
    """Make claimed deliveries pending again, or canceled where the subscription has ended."""
    ended = exists().where(
        Subscription.id == Delivery.subscription_id,
        or_(
            Subscription.deleted_at.is_not(None),
            and_(Subscription.deactivated_at.is_not(None), Delivery.trigger != Trigger.TEST),
        ),
    )
    session.execute(
        update(Delivery)
        .where(held, DELIVERING)
        .values(
            state=case((ended, DeliveryState.CANCELED), else_=DeliveryState.PENDING),
            finished_at=case((ended, utc_now()), else_=None),
            attempts=Delivery.attempts - 1,
            lease_token=None,
            lease_owner=None,
            lease_until=None,
            **values,
        )
        .execution_options(synchronize_session=False)
    )
