"""The events that a service has written, as they will be sent."""

from typing import Any

import orjson
from sqlalchemy import select

from app.core.runtime import Runtime
from app.events.models import Event


def happened(runtime: Runtime) -> list[str]:
    """Return the types of all events, the oldest first."""
    with runtime.db.reading() as session:
        return list(session.scalars(select(Event.type).order_by(Event.occurred_at, Event.id)))


def data_of(runtime: Runtime, event_type: str) -> list[dict[str, Any]]:
    """Return the data of the events of one type."""
    with runtime.db.reading() as session:
        found = session.scalars(
            select(Event.body).where(Event.type == event_type).order_by(Event.occurred_at, Event.id)
        )
        return [orjson.loads(body)["data"] for body in found]
