"""Creation of deliveries: for an event, a test, a redelivery or a recovery.

A recovery may create hundreds of thousands. So it opens its transactions itself: a batch at a time,
each in one short write transaction.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Select, exists, func, insert, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.core.clock import utc_now
from app.core.database.session import Database, ring_after_commit
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.events import outbox
from app.events.catalogue import EventType, sample_of
from app.events.models import Event
from app.webhooks import service
from app.webhooks.enums import RECOVERABLE_STATES, DeliveryState, Trigger
from app.webhooks.models import Delivery, Subscription

ATTEMPTS = 3
_BATCH_SIZE = 1000
_NOT_ENDED = (DeliveryState.PENDING, DeliveryState.DELIVERING)

_Recoverable: TypeAlias = Select[str, datetime, str, str, int]


@dataclass(frozen=True, slots=True)
class StartedDelivery:
    delivery_id: str
    event_id: str
    event: str
    status: str = DeliveryState.PENDING.value


def fan_out(session: Session, events: Sequence[Event], targets: Collection[str] = ()) -> None:
    """Write a delivery of each event for each subscription to its type; called by `events.outbox`.

    An inactive subscription gets a canceled delivery, so that a recovery finds what it missed.

    Args:
        targets: send to these alone, whatever they subscribe to.
    """
    subscriptions = session.execute(
        select(Subscription.id, Subscription.events, Subscription.active)
        .where(Subscription.deleted_at.is_(None))
        .order_by(Subscription.id)
        # A deletion waits for this commit, and so cancels what is written here.
        .with_for_update(read=True, key_share=True)
    ).all()
    rows = [
        _row(
            event.id,
            event.type,
            subscription_id,
            now=event.occurred_at,
            state=DeliveryState.PENDING if active else DeliveryState.CANCELED,
        )
        for event in events
        for subscription_id, types, active in subscriptions
        if (subscription_id in targets if targets else event.type in types)
    ]
    _write(session, rows)


def send_test(session: Session, subscription_id: str, event: str | None) -> StartedDelivery:
    """Send a sample of one of the subscription's types, by default its first, even if inactive."""
    subscription = service.get(session, subscription_id)
    known = subscription.events or [EventType.ALERT_RAISED]
    event_type = EventType(event or known[0])
    if event_type not in known:
        message = f"This must be one of {', '.join(known)}."
        raise InvalidInput.field("event", message, code="ENUM")
    sample = outbox.record(session, event_type, sample_of(event_type))
    row = _row(
        sample.id, sample.type, subscription_id, now=sample.occurred_at, trigger=Trigger.TEST
    )
    _write(session, [row])
    return StartedDelivery(row["id"], sample.id, sample.type)


def redeliver(session: Session, subscription_id: str, delivery_id: str) -> StartedDelivery:
    """Send an event once more, in one attempt; the earlier delivery stays as it is."""
    service.get(session, subscription_id)
    earlier = session.get(Delivery, delivery_id)
    if earlier is None or earlier.subscription_id != subscription_id:
        raise NotFound("There is no such delivery.")
    if earlier.state in _NOT_ENDED:
        raise Conflict("This delivery has not ended yet; wait until it has.")
    latest = select(func.max(Delivery.round)).where(
        Delivery.event_id == earlier.event_id, Delivery.subscription_id == subscription_id
    )
    row = _row(
        earlier.event_id,
        earlier.event_type,
        subscription_id,
        now=utc_now(),
        trigger=Trigger.MANUAL,
        max_attempts=1,
        round=session.scalars(latest).one() + 1,
    )
    _write(session, [row])
    return StartedDelivery(row["id"], earlier.event_id, earlier.event_type)


def recover(
    db: Database,
    subscription_id: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    status: str | None = None,
    batch_size: int = _BATCH_SIZE,
) -> int:
    """Send every event again whose latest delivery failed, was canceled or was missed.

    A second call finds the new deliveries and creates none; so a call that was cut off can be
    repeated, and creates the rest. Returns how many were created.

    Args:
        since: only latest deliveries created at this time or later.
        until: only those created before this time.
        status: only `failed` or only `canceled`; a missed event counts as canceled.
    """
    if since is not None and until is not None and since >= until:
        raise InvalidInput.field("until", "until must be later than since.", code="RANGE")
    # Deliveries that are created here and fail meanwhile are not part of this call.
    until = min(until or utc_now(), utc_now())
    recoverable = _recoverable(subscription_id, since, until, status).limit(batch_size)
    after_last, count = recoverable, 0
    while True:
        with db.writing() as session:
            batch = _recover_batch(session, subscription_id, after_last)
        count += len(batch)
        if len(batch) < batch_size:
            return count
        last = batch[-1]
        after_last = recoverable.where(
            tuple_(Delivery.created_at, Delivery.id) > tuple_(last.created_at, last.id)
        )


def count_missed(session: Session, subscription_id: str) -> int:
    """Return how many events `recover` would send again."""
    missed = _recoverable(subscription_id, None, utc_now(), None).order_by(None).subquery()
    return session.scalar(select(func.count()).select_from(missed)) or 0


def _recover_batch(session: Session, subscription_id: str, recoverable: _Recoverable) -> list[Any]:
    service.get(session, subscription_id)
    now = utc_now()
    batch = list(session.execute(recoverable))
    rows = [
        _row(
            latest.event_id,
            latest.event_type,
            subscription_id,
            now=now,
            trigger=Trigger.MANUAL,
            round=latest.round + 1,
        )
        for latest in batch
    ]
    _write(session, rows)
    return batch


def _recoverable(
    subscription_id: str, since: datetime | None, until: datetime, status: str | None
) -> _Recoverable:
    later = aliased(Delivery)
    recoverable = select(
        Delivery.id, Delivery.created_at, Delivery.event_id, Delivery.event_type, Delivery.round
    ).where(
        Delivery.subscription_id == subscription_id,
        Delivery.state.in_(RECOVERABLE_STATES if status is None else (status,)),
        Delivery.trigger != Trigger.TEST,
        Delivery.created_at < until,
        ~exists().where(
            later.event_id == Delivery.event_id,
            later.subscription_id == Delivery.subscription_id,
            later.round > Delivery.round,
        ),
    )
    if since is not None:
        recoverable = recoverable.where(Delivery.created_at >= since)
    return recoverable.order_by(Delivery.created_at, Delivery.id)


def _row(
    event_id: str,
    event_type: str,
    subscription_id: str,
    *,
    now: datetime,
    trigger: Trigger = Trigger.EVENT,
    state: DeliveryState = DeliveryState.PENDING,
    max_attempts: int = ATTEMPTS,
    round: int = 0,
) -> dict[str, Any]:
    """Return the row of a delivery that is due now or, with the state canceled, was missed."""
    return {
        "id": new_id("dlv"),
        "event_id": event_id,
        "subscription_id": subscription_id,
        "event_type": event_type,
        "round": round,
        "trigger": trigger.value,
        "state": state.value,
        "max_attempts": max_attempts,
        "due_at": now,
        "created_at": now,
        "finished_at": now if state == DeliveryState.CANCELED else None,
    }


def _write(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store deliveries, and wake the sender when one of them is due."""
    if not rows:
        return
    session.execute(insert(Delivery), rows)
    if any(row["state"] == DeliveryState.PENDING for row in rows):
        ring_after_commit(session, service.SENDER_BELL)
