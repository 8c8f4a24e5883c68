"""Recovery: sends every event again whose latest delivery failed or was canceled.

There may be hundreds of thousands. So it opens its transactions itself: a batch at a time, each in
one short write transaction.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Select, exists, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.core.clock import utc_now
from app.core.database.session import Database
from app.webhooks import deliveries, service
from app.webhooks.enums import RECOVERABLE_STATES, Trigger
from app.webhooks.models import Delivery

_Recoverable: TypeAlias = Select[str, datetime, str, str, int]

_BATCH_SIZE = 1000


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

    Raises:
        NotFound: it does not exist, or was deleted.
    """
    # Deliveries that are created here and fail meanwhile are not part of this call.
    until = min(until or utc_now(), utc_now())
    recoverable = _recoverable(subscription_id, since, until, status)
    return sum(_batches(db, subscription_id, recoverable.limit(batch_size), batch_size))


def count_missed(session: Session, subscription_id: str) -> int:
    """Return how many events `recover` would send again."""
    missed = _recoverable(subscription_id, None, utc_now(), None).order_by(None).subquery()
    return session.scalar(select(func.count()).select_from(missed)) or 0


def _batches(
    db: Database, subscription_id: str, recoverable: _Recoverable, batch_size: int
) -> Iterator[int]:
    """Recover batch after batch, each in a transaction of its own; yield the size of each."""
    after = recoverable
    while True:
        with db.writing() as session:
            batch = _recover_batch(session, subscription_id, after)
        yield len(batch)
        if len(batch) < batch_size:
            return
        last = batch[-1]
        after = recoverable.where(
            tuple_(Delivery.created_at, Delivery.id) > tuple_(last.created_at, last.id)
        )


def _recover_batch(session: Session, subscription_id: str, recoverable: _Recoverable) -> list[Any]:
    service.get(session, subscription_id)
    now = utc_now()
    batch = list(session.execute(recoverable))
    rows = [
        deliveries.delivery_row(
            latest.event_id,
            latest.event_type,
            subscription_id,
            now=now,
            trigger=Trigger.MANUAL,
            round=latest.round + 1,
        )
        for latest in batch
    ]
    deliveries.write(session, rows)
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
