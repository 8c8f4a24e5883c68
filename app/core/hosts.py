"""Hosts: the heartbeats of their services, the keepers among them, and their clocks."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Engine, delete, event, or_, select, update
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
_MEASURE_EVERY_S = 30.0
_ROUND_TRIPS = 5


class Host(Table):
    """One service (web, worker or sender) of a host; a worker has roles, and a sender does not.

    `clock_offset_ms` is how far the database's clock is ahead of the host's. `queue_server` is the id
    of the queue server that it shares, or of the host itself; null while it is unknown.
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
    queue_server: Mapped[str | None]


class KeeperLease(Table):
    """A keeper's work, the process that does it, and the end of its lease."""

    __tablename__ = "keepers"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    until: Mapped[datetime] = mapped_column(UtcDateTime)


class Heartbeat:
    """Records that a service of this host is running."""

    def __init__(
        self,
        db: Database,
        service: str,
        roles: Sequence[str] = (),
        *,
        queue_server: Callable[[], str] = str,
    ) -> None:
        """Name the service.

        Args:
            queue_server: returns the id of its queue server; empty while it is unknown.
        """
        self._db = db
        self._service = service
        self._roles = list(roles)
        self._queue_server = queue_server
        self._started_at = utc_now()
        self._next_at = 0.0

    def beat(self) -> None:
        """Write it if five seconds have passed; a database that cannot be used is tried later."""
        if time.monotonic() < self._next_at:
            return
        queue_server = self._queue_server() or None
        with suppress(ServiceUnavailable, SQLAlchemyError), self._db.writing() as session:
            values = {
                "name": owner.host_name(),
                "roles": self._roles,
                "version": __version__,
                "started_at": self._started_at,
                "seen_at": utc_now(),
                "clock_offset_ms": round(clock.offset().total_seconds() * 1000),
                "queue_server": queue_server,
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
    """Return whether this service was seen on any host within 15 seconds."""
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


def by_queue_server(hosts: Iterable[Host]) -> dict[str, dict[str, Host]]:
    """Group services by the id of their queue server, and within by host; a host has its eldest one."""
    servers: defaultdict[str, dict[str, Host]] = defaultdict(dict)
    for host in sorted(hosts, key=lambda host: host.started_at, reverse=True):
        if host.queue_server:
            servers[host.queue_server][host.id] = host
    return dict(servers)


def shares_queue_server(session: Session) -> bool:
    """Return whether the queue server of this web host is that of most web hosts.

    Of two servers that as many use, it is the one that several hosts can share, or was used first.
    """
    web = {host.id: host for host in list_running(session) if host.service == WEB}
    me = web.get(owner.this_host())
    if me is None or not me.queue_server:
        return True
    # A host that was not seen since may be this one before its restart.
    servers = by_queue_server(
        host for host in web.values() if host is me or host.seen_at > me.started_at
    )

    def rank(server: str) -> tuple[int, bool, float]:
        users = servers[server]
        first_at = min(host.started_at for host in users.values())
        return len(users), server not in users, -first_at.timestamp()

    return me.queue_server == max(servers, key=rank)


def purge(session: Session) -> None:
    """Forget hosts that were not seen for a day."""
    session.execute(delete(Host).where(Host.seen_at < utc_now() - _FORGOTTEN_AFTER))


class Keeper:
    """Makes this process the keeper when no other is, and renews its lease.

    With SQLite there is one host, whose processes need no lease.
    """

    def __init__(
        self, db: Database, name: str, *, is_allowed: bool = True, lease_s: float = 15.0
    ) -> None:
        """Create the keeper of one kind of work.

        Args:
            is_allowed: whether this host may do it.
            lease_s: how long no other may do it after this process was last seen.
        """
        self._db = db
        self._name = name
        self._is_allowed = is_allowed
        self._lease_s = lease_s
        self._renew_at = 0.0
        self._sure_until = 0.0

    def take_or_renew(self) -> bool:
        """Take or renew the lease when that is due; return whether this process has it."""
        if not self._is_allowed or self._db.engine.dialect.name == "sqlite":
            return self._is_allowed
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + self._lease_s / 3
            with suppress(ServiceUnavailable, SQLAlchemyError):  # such as a read-only database
                with self._db.writing() as session:
                    is_taken = self._take(session)
                # A keeper that cannot renew stops before another may begin.
                self._sure_until = now + 0.8 * self._lease_s if is_taken else 0.0
        return time.monotonic() < self._sure_until

    def step_down(self) -> None:
        """Let another process be the keeper at once."""
        if self._sure_until:
            with suppress(ServiceUnavailable), self._db.writing() as session:
                mine = (KeeperLease.name == self._name) & (
                    KeeperLease.holder == owner.this_process()
                )
                session.execute(update(KeeperLease).where(mine).values(until=utc_now()))
        self._sure_until, self._renew_at = 0.0, float("inf")

    def _take(self, session: Session) -> bool:
        me, now = owner.this_process(), utc_now()
        values = {"holder": me, "until": now + timedelta(seconds=self._lease_s)}
        holder = session.scalar(select(KeeperLease.holder).where(KeeperLease.name == self._name))
        free = or_(KeeperLease.holder == me, KeeperLease.until <= now)
        if holder is not None and owner.is_dead(holder):
            free = or_(free, KeeperLease.holder == holder)
        insert = upsert_into(session, KeeperLease).values(name=self._name, **values)
        upsert = insert.on_conflict_do_update(index_elements=["name"], set_=values, where=free)
        return session.scalar(upsert.returning(KeeperLease.name)) is not None


def follow_clock(engine: Engine) -> None:
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
                clock.set_offset(_measured_offset(connection))


def _measured_offset(connection: Any) -> timedelta:
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
