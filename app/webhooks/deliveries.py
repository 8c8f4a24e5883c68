"""Creation of deliveries: for an event, a test, a redelivery or a recovery."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.events import outbox
from app.events.catalogue import EventType, sample_of
from app.events.models import Event
from app.webhooks import service
from app.webhooks.enums import DeliveryState, Trigger
from app.webhooks.models import Delivery, Subscription

ATTEMPTS = 3
_NOT_ENDED = (DeliveryState.PENDING, DeliveryState.DELIVERING)


@dataclass(frozen=True, slots=True)
class StartedDelivery:
    """A delivery that a caller requested."""

    delivery_id: str
    event_id: str
    event: str
    status: str = DeliveryState.PENDING.value


def fan_out(session: Session, events: Sequence[Event]) -> None:
    """Write a delivery of each event for each subscription to its type; called by `events.outbox`.

    An inactive subscription gets a canceled delivery, so that a recovery finds what it missed.
    """
    subscriptions = session.execute(
        select(Subscription.id, Subscription.events, Subscription.active)
        .where(Subscription.deleted_at.is_(None))
        .order_by(Subscription.id)
        # A deletion waits for this commit, and so cancels what is written here.
        .with_for_update(read=True, key_share=True)
    ).all()
    rows = [
        delivery_row(
            event.id,
            event.type,
            subscription_id,
            now=event.occurred_at,
            state=DeliveryState.PENDING if active else DeliveryState.CANCELED,
        )
        for event in events
        for subscription_id, types, active in subscriptions
        if event.type in types
    ]
    write(session, rows)


def send_test(
    session: Session, subscription_id: str, *, event: str | None = None
) -> StartedDelivery:
    """Send a sample of one of the subscription's types, also when it is inactive.

    Raises:
        InvalidInput: the subscription does not include that type.
    """
    subscription = service.get(session, subscription_id)
    event_type = EventType(event or subscription.events[0])
    if event_type not in subscription.events:
        message = f"This must be one of {', '.join(subscription.events)}."
        raise InvalidInput.field("event", message, code="ENUM")
    sample = outbox.record(session, event_type, sample_of(event_type))
    row = delivery_row(
        sample.id, sample.type, subscription_id, now=sample.occurred_at, trigger=Trigger.TEST
    )
    write(session, [row])
    return StartedDelivery(row["id"], sample.id, sample.type)


def redeliver(session: Session, subscription_id: str, delivery_id: str) -> StartedDelivery:
    """Send an event once more, in one attempt; the earlier delivery stays as it is.

    Raises:
        Conflict: the delivery has not ended yet.
    """
    service.get(session, subscription_id)
    earlier = session.get(Delivery, delivery_id)
    if earlier is None or earlier.subscription_id != subscription_id:
        raise NotFound("There is no such delivery.")
    if earlier.state in _NOT_ENDED:
        raise Conflict("This delivery has not ended yet; wait until it has.")
    latest = select(func.max(Delivery.round)).where(
        Delivery.event_id == earlier.event_id, Delivery.subscription_id == subscription_id
    )
    row = delivery_row(
        earlier.event_id,
        earlier.event_type,
        subscription_id,
        now=utc_now(),
        trigger=Trigger.MANUAL,
        max_attempts=1,
        round=session.scalars(latest).one() + 1,
    )
    write(session, [row])
    return StartedDelivery(row["id"], earlier.event_id, earlier.event_type)


def delivery_row(
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


def write(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store deliveries, and wake the sender when one of them is due."""
    if not rows:
        return
    session.execute(insert(Delivery), rows)
    if any(row["state"] == DeliveryState.PENDING for row in rows):
        ring_after_commit(session, service.SENDER_BELL)
