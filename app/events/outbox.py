"""Outbox of events: each is written in the transaction of the change that it announces."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.hooks import hooks_of
from app.core.ids import new_id
from app.events.catalogue import EventType, envelope
from app.events.data import EventData
from app.events.models import Event

MAX_BODY_BYTES = 256 * 1024
_LONGEST_TEXT = 1024


def publish(session: Session, event_type: EventType, data: EventData) -> Event:
    """Write the event and call `Hooks.on_publish`, which writes its deliveries, in one transaction."""
    return publish_all(session, event_type, [data])[0]


def publish_all(
    session: Session, event_type: EventType, data: Sequence[EventData]
) -> Sequence[Event]:
    """Write one event for each of these data, as `publish` does."""
    events = [_event(event_type, values) for values in data]
    session.add_all(events)
    session.flush()
    for on_publish in hooks_of(session).on_publish:
        on_publish(session, events)
    return events


def record(session: Session, event_type: EventType, data: EventData) -> Event:
    """Write the event without calling any hook; a test delivery needs only the row."""
    event = _event(event_type, data)
    session.add(event)
    session.flush()
    return event


def _event(event_type: EventType, data: EventData) -> Event:
    event_id, now = new_id("evt"), utc_now()

    def body_of(values: Mapping[str, object]) -> bytes:
        return orjson.dumps(
            envelope(event_id=event_id, event=event_type, occurred_at=now, data=values)
        )

    body = body_of(data)
    if len(body) > MAX_BODY_BYTES:
        body = body_of(_thinned(data))
    return Event(id=event_id, type=event_type.value, occurred_at=now, body=body)


def _thinned(data: Mapping[str, object]) -> dict[str, object]:
    """Empty the long texts so that the event keeps its schema; readers get the rest by its ids."""
    return {
        name: "" if isinstance(value, str) and len(value) > _LONGEST_TEXT else value
        for name, value in data.items()
    }
