"""Heartbeats: each service of a host writes every five seconds that it runs."""

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import JSON, delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from app import __version__
from app.core import clock
from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import upsert_into
from app.core.errors import ServiceUnavailable
from app.core.process import owner

WEB, WORKER, SENDER = "web", "worker", "sender"
BEAT_EVERY_S = 5.0
_SILENT_AFTER = timedelta(seconds=15)
_FORGOTTEN_AFTER = timedelta(days=1)


class Host(Table):
    """One service (web, worker or sender) of a host; a worker has roles, and a sender does not.

    `clock_offset_ms` is how far the database's clock is ahead of the host's.
    """

    __tablename__ = "hosts"

    id: Mapped[str] = mapped_column(primary_key=True)
    service: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    roles: Mapped[list[str]] = mapped_column(JSON)
    version: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    clock_offset_ms: Mapped[int]


class Heartbeat:
    """Records that a service of this host is running."""

    def __init__(self, db: Database, service: str, roles: Sequence[str] = ()) -> None:
        self._db = db
        self._service = service
        self._roles = list(roles)
        self._started_at = utc_now()
        self._next_at = 0.0

    def beat(self) -> None:
        """Write it if five seconds have passed; a database that cannot be used is tried later."""
        if time.monotonic() < self._next_at:
            return
        with suppress(ServiceUnavailable, SQLAlchemyError), self._db.writing() as session:
            values = {
                "name": owner.host_name(),
                "roles": self._roles,
                "version": __version__,
                "started_at": self._started_at,
                "seen_at": utc_now(),
                "clock_offset_ms": round(clock.offset().total_seconds() * 1000),
            }
            insert = upsert_into(session, Host).values(
                id=owner.this_host(), service=self._service, **values
            )
            session.execute(
                insert.on_conflict_do_update(index_elements=["id", "service"], set_=values)
            )
        self._next_at = time.monotonic() + BEAT_EVERY_S

    def stop(self) -> None:
        """Write that the service has ended properly."""
        with suppress(ServiceUnavailable), self._db.writing() as session:
            session.execute(
                delete(Host).where(
                    Host.id == owner.this_host(),
                    Host.service == self._service,
                    Host.started_at == self._started_at,
                )
            )


def is_running(db: Database, service: str) -> bool:
    """Whether this service was seen on any host within 15 seconds."""
    with suppress(ServiceUnavailable, SQLAlchemyError), db.reading() as session:
        return any(host.service == service for host in list_running(session))
    return False


def count_hosts(db: Database, service: str) -> int:
    """Count the hosts on which this service was seen within 15 seconds; at least this one.

    Raises:
        ServiceUnavailable: the database does not answer.
    """
    with db.reading() as session:
        hosts = {host.id for host in list_running(session) if host.service == service}
    return max(1, len(hosts))


def list_running(session: Session) -> Sequence[Host]:
    """List the services that were seen within 15 seconds, by the names of their hosts."""
    seen_after = utc_now() - _SILENT_AFTER
    return session.scalars(
        select(Host).where(Host.seen_at > seen_after).order_by(Host.name, Host.id, Host.service)
    ).all()


def purge(session: Session) -> None:
    """Forget hosts that were not seen for a day."""
    session.execute(delete(Host).where(Host.seen_at < utc_now() - _FORGOTTEN_AFTER))
