"""Recovery: every event whose latest delivery ended in vain is sent anew.

There may be hundreds of thousands. So it is a door of its own: some at a time, each time in one
short write transaction.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Select, exists, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.core.clock import utc_now
from app.core.database.session import Database
from app.webhooks import deliveries, service
from app.webhooks.models import Delivery, DeliveryState, Trigger

_Wanted: TypeAlias = Select[str, datetime, str, str, int]

BATCH = 1000
_ENDED_IN_VAIN = (DeliveryState.FAILED.value, DeliveryState.CANCELED.value)


def recover(
    db: Database,
    subscription_id: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    status: str | None = None,
) -> int:
    """Send every event anew whose latest delivery failed, was canceled or was missed.

    A second call finds the new deliveries and makes none; so a call that was cut off can be made
    again, and makes the rest. Returns how many are made.

    Args:
        since: moment from which on the latest deliveries were made, inclusive.
        until: moment before which they were made, exclusive.
        status: failed or canceled alone; an event that was missed counts as canceled.

    Raises:
        NotFound: there is no such subscription, or none any more.
    """
    # What is made here and fails meanwhile is not for this call.
    until = min(until or utc_now(), utc_now())
    wanted = _ended_in_vain(subscription_id, since, until, status)
    return sum(_batches(db, subscription_id, wanted))


def _batches(db: Database, subscription_id: str, wanted: _Wanted) -> Iterator[int]:
    after = wanted
    while True:
        with db.writing() as session:
            found = _recover_some(session, subscription_id, after)
        yield len(found)
        if len(found) < BATCH:
            return
        last = found[-1]
        after = wanted.where(
            tuple_(Delivery.created_at, Delivery.id) > tuple_(last.created_at, last.id)
        )


def _recover_some(session: Session, subscription_id: str, wanted: _Wanted) -> list[Any]:
    service.get(session, subscription_id)
    now = utc_now()
    found = list(session.execute(wanted))
    rows = [
        deliveries.row_of(
            each.event_id,
            each.event_type,
            subscription_id,
            now=now,
            trigger=Trigger.MANUAL,
            round=each.round + 1,
        )
        for each in found
    ]
    deliveries.write(session, rows)
    return found


def _ended_in_vain(
    subscription_id: str, since: datetime | None, until: datetime, status: str | None
) -> _Wanted:
    later = aliased(Delivery)
    wanted = select(
        Delivery.id, Delivery.created_at, Delivery.event_id, Delivery.event_type, Delivery.round
    ).where(
        Delivery.subscription_id == subscription_id,
        Delivery.state.in_(_ENDED_IN_VAIN if status is None else (status,)),
        Delivery.trigger != Trigger.TEST,
        Delivery.created_at < until,
        ~exists().where(
            later.event_id == Delivery.event_id,
            later.subscription_id == Delivery.subscription_id,
            later.round > Delivery.round,
        ),
    )
    if since is not None:
        wanted = wanted.where(Delivery.created_at >= since)
    return wanted.order_by(Delivery.created_at, Delivery.id).limit(BATCH)
