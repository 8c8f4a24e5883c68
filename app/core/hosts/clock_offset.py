"""Clock offset: how far the clock of this host is off the database's, which all hosts share."""

import time
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, event

from app.core import clock

_MEASURE_EVERY_S = 30.0
_ROUND_TRIPS = 5


def follow(engine: Engine) -> None:
    """Set `utc_now` to the clock of a PostgreSQL server, and again every 30 seconds.

    It is measured when a connection is taken from the pool, before anybody uses it.
    """
    if engine.dialect.name != "postgresql":
        return
    measure_at = 0.0

    @event.listens_for(engine, "checkout")
    def measure(connection: Any, *_: object) -> None:
        nonlocal measure_at
        if time.monotonic() >= measure_at:
            measure_at = time.monotonic() + _MEASURE_EVERY_S
            # The caller's own first statement raises the same error.
            with suppress(engine.dialect.loaded_dbapi.Error):
                clock.set_offset(_measured(connection))


def _measured(connection: Any) -> timedelta:
    """Return the offset by the shortest of five round trips."""
    trips: list[tuple[timedelta, timedelta]] = []
    with connection.cursor() as cursor:
        for _ in range(_ROUND_TRIPS):
            sent_at = clock.host_now()
            cursor.execute("SELECT clock_timestamp()")
            database_time: datetime = cursor.fetchone()[0]
            took = clock.host_now() - sent_at
            trips.append((took, database_time - sent_at - took / 2))
    connection.rollback()
    return min(trips)[1]
