"""The outbox: an event is written in the transaction of what it tells, or it did not happen."""

from collections.abc import Callable, Mapping

import orjson
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.ids import new_id
from app.events.catalogue import EventType, envelope
from app.events.models import Event
from app.events.payloads import EventData

MAX_BODY_BYTES = 256 * 1024
_LONGEST_KEPT = 1024

Listener = Callable[[Session, Event], None]

_listeners: list[Listener] = []


def on_publish(listener: Listener) -> None:
    """Call the listener with each published event, in the same transaction; wired once."""
    if listener not in _listeners:
        _listeners.append(listener)


def publish(session: Session, event_type: EventType, data: EventData) -> Event:
    """Write the event, and through the listeners its deliveries, in the caller's transaction."""
    event = record(session, event_type, data)
    for listener in _listeners:
        listener(session, event)
    return event


def record(session: Session, event_type: EventType, data: EventData) -> Event:
    """Write the event and tell nobody; a test delivery needs only the row."""
    event_id, now = new_id("evt"), utc_now()

    def body_of(values: Mapping[str, object]) -> bytes:
        return orjson.dumps(
            envelope(event_id=event_id, event=event_type, occurred_at=now, data=values)
        )

    body = body_of(data)
    if len(body) > MAX_BODY_BYTES:
        body = body_of(_thinned(data))
    event = Event(id=event_id, type=event_type.value, occurred_at=now, body=body)
    session.add(event)
    session.flush()
    return event


def _thinned(data: Mapping[str, object]) -> dict[str, object]:
    """Empty the long texts, so that it still obeys its schema; the API tells the rest by the ids."""
    return {
        name: "" if isinstance(value, str) and len(value) > _LONGEST_KEPT else value
        for name, value in data.items()
    }
