"""Fills the tables with finished deliveries, to measure whether they slow the sender."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy import insert

from app.core.clock import utc_now
from app.core.database.session import Database
from app.events.catalogue import EventType, example_of
from app.events.models import Event
from app.webhooks.models import Attempt, Delivery

_BATCH = 20_000
_DAYS = 29


def fill(db: Database, subscription_ids: Sequence[str], count: int) -> None:
    """Write finished deliveries, each with its event and its attempt, over the past 29 days."""
    event = EventType.EVALUATION_COMPLETED
    body = orjson.dumps(example_of(event))
    first = utc_now() - timedelta(days=_DAYS)
    step = timedelta(days=_DAYS) / count
    for start in range(0, count, _BATCH):
        events: list[dict[str, Any]] = []
        deliveries: list[dict[str, Any]] = []
        attempts: list[dict[str, Any]] = []
        for number in range(start, min(start + _BATCH, count)):
            at = first + number * step
            event_id, delivery_id = f"evt_{number:026d}", f"dlv_{number:026d}"
            events.append({"id": event_id, "type": event.value, "occurred_at": at, "body": body})
            deliveries.append(
                {
                    "id": delivery_id,
                    "event_id": event_id,
                    "subscription_id": subscription_ids[number % len(subscription_ids)],
                    "event_type": event.value,
                    "trigger": "event",
                    "state": "succeeded",
                    "attempts": 1,
                    "metered": True,
                    "due_at": at,
                    "created_at": at,
                    "finished_at": at,
                }
            )
            attempts.append(
                {
                    "delivery_id": delivery_id,
                    "number": 1,
                    "started_at": at,
                    "duration_ms": 12,
                    "url": "https://receiver.example.com/hook",
                    "ip": "203.0.113.7",
                    "status_code": 200,
                    "outcome": "success",
                    "error": None,
                    "response_excerpt": "ok",
                    "truncated": False,
                }
            )
        with db.writing() as session:
            session.execute(insert(Event), events)
            session.execute(insert(Delivery), deliveries)
            session.execute(insert(Attempt), attempts)
    if db.engine.dialect.name == "sqlite":
        # As the service does each minute; so much at once would burden what is measured next.
        with db.engine.connect() as connection:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
