"""How deliveries come to be: from an event, a test, a redelivery or a recovery."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, insert, select
from sqlalchemy.orm import Session, aliased

from app.core.clock import utc_now
from app.core.db import ring_after_commit
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.events import outbox
from app.events.catalogue import EventType, sample_of
from app.events.models import Event
from app.webhooks import service
from app.webhooks.limits import ATTEMPTS
from app.webhooks.models import Delivery, DeliveryState, Subscription, Trigger

_UNDER_WAY = (DeliveryState.PENDING, DeliveryState.DELIVERING)
_ENDED_IN_VAIN = (DeliveryState.FAILED.value, DeliveryState.CANCELED.value)


@dataclass(frozen=True, slots=True)
class Started:
    """A delivery that was asked for."""

    delivery_id: str
    event_id: str
    event: str
    status: str = DeliveryState.PENDING.value


def fan_out(session: Session, event: Event) -> None:
    """Write a delivery for each subscription to this type; `events.outbox` calls it.

    An inactive one gets a canceled delivery, so that a recovery finds what was missed.
    """
    wanting = session.execute(
        select(Subscription.id, Subscription.events, Subscription.active)
        .where(Subscription.deleted_at.is_(None))
        .order_by(Subscription.id)
        # A deletion waits until this is committed, and so cancels what is written here.
        .with_for_update(read=True, key_share=True)
    )
    rows = [
        _row(
            event.id,
            event.type,
            subscription_id,
            now=event.occurred_at,
            state=DeliveryState.PENDING if active else DeliveryState.CANCELED,
        )
        for subscription_id, types, active in wanting
        if event.type in types
    ]
    _write(session, rows)


def send_test(session: Session, subscription_id: str, *, event: str | None = None) -> Started:
    """Send a sample of one of the subscription's types, also when it is inactive.

    Raises:
        InvalidInput: the subscription does not listen to that type.
    """
    subscription = service.get(session, subscription_id)
    chosen = event or subscription.events[0]
    if chosen not in subscription.events:
        message = f"This must be one of {', '.join(subscription.events)}."
        raise InvalidInput.field("event", message, code="ENUM")
    event_type = EventType(chosen)
    sample = outbox.record(session, event_type, sample_of(event_type))
    row = _row(sample.id, chosen, subscription_id, now=sample.occurred_at, trigger=Trigger.TEST)
    _write(session, [row])
    return Started(row["id"], sample.id, chosen)


def redeliver(session: Session, subscription_id: str, delivery_id: str) -> Started:
    """Send an event once more, in one attempt; the earlier delivery stays as it ended.

    Raises:
        Conflict: the delivery has not ended yet.
    """
    service.get(session, subscription_id)
    earlier = session.get(Delivery, delivery_id)
    if earlier is None or earlier.subscription_id != subscription_id:
        raise NotFound("There is no such delivery.")
    if earlier.state in _UNDER_WAY:
        raise Conflict("This delivery has not ended yet.")
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
    return Started(row["id"], earlier.event_id, earlier.event_type)


def recover(
    session: Session,
    subscription_id: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    status: str | None = None,
) -> int:
    """Send every event anew whose latest delivery failed, was canceled or was missed.

    A second call finds the new deliveries and makes none. Returns how many are made.

    Args:
        since: moment from which on the latest deliveries were made, inclusive.
        until: moment before which they were made, exclusive.
        status: failed or canceled alone; an event that was missed counts as canceled.
    """
    service.get(session, subscription_id)
    later = aliased(Delivery)
    statement = select(Delivery.event_id, Delivery.event_type, Delivery.round).where(
        Delivery.subscription_id == subscription_id,
        Delivery.state.in_(_ENDED_IN_VAIN if status is None else (status,)),
        Delivery.trigger != Trigger.TEST,
        ~exists().where(
            later.event_id == Delivery.event_id,
            later.subscription_id == Delivery.subscription_id,
            later.round > Delivery.round,
        ),
    )
    if since is not None:
        statement = statement.where(Delivery.created_at >= since)
    if until is not None:
        statement = statement.where(Delivery.created_at < until)
    now = utc_now()
    found = session.execute(statement.order_by(Delivery.created_at, Delivery.id))
    rows = [
        _row(
            event_id,
            event_type,
            subscription_id,
            now=now,
            trigger=Trigger.MANUAL,
            round=round_ + 1,
        )
        for event_id, event_type, round_ in found
    ]
    _write(session, rows)
    return len(rows)


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
    if not rows:
        return
    session.execute(insert(Delivery), rows)
    if any(row["state"] == DeliveryState.PENDING for row in rows):
        ring_after_commit(session, service.SENDER_BELL)
