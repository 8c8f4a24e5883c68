"""Delivery history: listed page by page, and deleted when it expires."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import RowMapping, delete, exists, func, select
from sqlalchemy.orm import Session

from app.core.database.filters import Filters, at_least, before, conditions, equal
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.events.models import Event
from app.webhooks.enums import DeliveryState
from app.webhooks.models import Attempt, Delivery, Subscription

_SORTABLE = {"created_at": Delivery.created_at}
_FILTERS: Filters = {
    "status": equal(Delivery.state),
    "event": equal(Delivery.event_type),
    "start": at_least(Delivery.created_at),
    "end": before(Delivery.created_at),
}
_COLUMNS = (
    select(
        Delivery.id,
        Delivery.subscription_id,
        Delivery.event_id,
        Delivery.event_type,
        Delivery.state,
        Delivery.trigger,
        Delivery.attempts,
        Delivery.due_at,
        Delivery.created_at,
        Delivery.finished_at,
        Event.body,
        Subscription.url,
    )
    .join(Event, Event.id == Delivery.event_id)
    .join(Subscription, Subscription.id == Delivery.subscription_id)
)


def list_page(
    session: Session, subscription_id: str, request: PageRequest, **filters: str | datetime
) -> Page[dict[str, Any]]:
    """List the deliveries of a subscription with their attempts, also after it was deleted."""
    find_row(session, Subscription, subscription_id, "webhook")
    criteria = [Delivery.subscription_id == subscription_id, *conditions(_FILTERS, filters)]
    total = session.scalar(select(func.count()).select_from(Delivery).where(*criteria)) or 0
    page = select_page(
        session,
        _COLUMNS.where(*criteria),
        request,
        sortable=_SORTABLE,
        tail=Delivery.id,
        total_count=total,
    )
    attempts = _attempts(session, [row["id"] for row in page.items])
    return replace(page, items=[_record(row, attempts.get(row["id"], [])) for row in page.items])


def purge(session: Session, *, before: datetime, limit: int = 500) -> int:
    """Delete deliveries that ended before a moment, and rows that nothing refers to any more.

    Call it until it returns 0: each call is a short transaction, so that others can write.
    """
    expired = session.execute(
        select(Delivery.id, Delivery.event_id).where(Delivery.finished_at < before).limit(limit)
    ).all()
    ids = [row.id for row in expired]
    session.execute(delete(Attempt).where(Attempt.delivery_id.in_(ids)))
    session.execute(delete(Delivery).where(Delivery.id.in_(ids)))
    unused = select(Event.id).where(
        Event.occurred_at < before, ~exists().where(Delivery.event_id == Event.id)
    )
    # Events that never had a delivery are searched last: that reads every old event.
    unused = unused.where(Event.id.in_({row.event_id for row in expired})) if expired else unused
    event_ids = session.scalars(unused.limit(limit)).all()
    session.execute(delete(Event).where(Event.id.in_(event_ids)))
    session.execute(
        delete(Subscription)
        .where(
            Subscription.deleted_at < before,
            ~exists().where(Delivery.subscription_id == Subscription.id),
        )
        .execution_options(synchronize_session=False)
    )
    return len(ids) + len(event_ids)


def _attempts(session: Session, delivery_ids: Sequence[str]) -> dict[str, list[RowMapping]]:
    rows = session.execute(
        select(Attempt.__table__)
        .where(Attempt.delivery_id.in_(delivery_ids))
        .order_by(Attempt.delivery_id, Attempt.number)
    ).mappings()
    by_delivery: dict[str, list[RowMapping]] = {}
    for row in rows:
        by_delivery.setdefault(row["delivery_id"], []).append(row)
    return by_delivery


def _record(row: RowMapping, attempts: Sequence[RowMapping]) -> dict[str, Any]:
    """Return a delivery as the API shows it; a running attempt is not counted yet."""
    running = row["state"] == DeliveryState.DELIVERING
    return {
        "id": row["id"],
        "webhook_id": row["subscription_id"],
        "event_id": row["event_id"],
        "event": row["event_type"],
        "status": row["state"],
        "trigger": row["trigger"],
        "attempt_count": row["attempts"] - running,
        "attempts": attempts,
        "next_attempt_at": row["due_at"] if row["state"] == DeliveryState.PENDING else None,
        "url": attempts[-1]["url"] if attempts else row["url"],
        "payload": orjson.loads(row["body"]),
        "created_at": row["created_at"],
        "completed_at": row["finished_at"],
    }
