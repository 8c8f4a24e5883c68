"""Engine: connections to SQLite or PostgreSQL, how each is set up, and durable commits of SQLite."""

import logging
import os
import select
import sqlite3
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Any

import orjson
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from app.core.errors import ServiceUnavailable
from app.core.settings import Settings

# A disk is quick if the second fastest of the last nine flushes took less than this.
_QUICK_S = 0.002
_REMEMBERED = 9
# macOS has no fdatasync.
flush_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)

_SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",  # what FULL adds, `CommitFlush` does
    "busy_timeout=10000",
    "foreign_keys=ON",
    "journal_size_limit=67108864",
    "temp_store=MEMORY",
    # What is erased is overwritten, not only unlinked.
    "secure_delete=ON",
)
# A network that falls silent ends a request after 6 seconds, instead of 15 minutes.
_POSTGRESQL_PARAMETERS = {
    "connect_timeout": 3,
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
_POSTGRESQL_SETTINGS = ("lock_timeout=10s", "idle_in_transaction_session_timeout=60s")


def _tell_lost_connection(record: logging.LogRecord) -> bool:
    """Let the pool say in a line that it replaces a connection that was lost while in use."""
    if record.exc_info and record.exc_info[1] is not None:
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args = (
            "a lost connection to the database is replaced: %s",
            (" ".join(str(record.exc_info[1]).split()),),
        )
        record.exc_info = None
    return True


logging.getLogger("sqlalchemy.pool.impl.QueuePool").addFilter(_tell_lost_connection)


def make_engine(settings: Settings, *, waits_for_disk: bool = True) -> Engine:
    """Create the engine of a process; it connects on first use.

    Args:
        waits_for_disk: whether a commit of PostgreSQL is safe from a power failure when it returns.
    """
    url = settings.effective_database_url
    shared: dict[str, Any] = {
        "pool_size": settings.threads + 3,
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": orjson.loads,
        # The text of an error is logged: it must not repeat what callers sent.
        "hide_parameters": True,
    }
    if settings.is_sqlite:
        engine = _sqlite(url, shared)
    else:
        engine = _postgresql(url, shared)
        if not waits_for_disk:
            set_on_connect(engine, "synchronous_commit=off")
    _dispose_in_children(engine)
    return engine


def postgresql_parameters(url: str) -> dict[str, Any]:
    """Return the parameters of a connection to PostgreSQL; those that the URL sets are left out."""
    given = make_url(url).query
    unset = {name: value for name, value in _POSTGRESQL_PARAMETERS.items() if name not in given}
    # Behind a pooler, the next transaction may run where a statement was never prepared.
    return {**unset, "prepare_threshold": None}


def set_on_connect(engine: Engine, *server_settings: str) -> None:
    """Add settings of the PostgreSQL server to new connections; `options` in the URL overrides them."""

    @event.listens_for(engine, "do_connect")
    def add_options(_: object, __: object, ___: object, parameters: dict[str, Any]) -> None:
        added = " ".join(f"-c {setting}" for setting in server_settings)
        parameters["options"] = f"{added} {parameters.get('options', '')}"


def limit_statements(engine: Engine, seconds: int) -> None:
    """Let PostgreSQL cancel longer statements of new connections; SQLite knows no such limit."""
    if engine.dialect.name == "postgresql":
        set_on_connect(engine, f"statement_timeout={seconds}s")


def _postgresql(url: str, shared: dict[str, Any]) -> Engine:
    engine = create_engine(
        url, connect_args=postgresql_parameters(url), use_native_hstore=False, **shared
    )
    set_on_connect(engine, *_POSTGRESQL_SETTINGS)

    @event.listens_for(engine, "checkout")
    def replace_closed(connection: Any, entry: ConnectionPoolEntry, _: object) -> None:
        """Open a new connection instead of one that the server has closed, without a round trip."""
        if not entry.info.get("was_used"):  # a new one; its first statement raises what is wrong
            entry.info["was_used"] = True
        elif connection.closed or _has_ended(connection):
            raise DisconnectionError

    return engine


def _has_ended(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))  # an idle server has nothing to say but the end


def _sqlite(url: str, shared: dict[str, Any]) -> Engine:
    engine = create_engine(url, connect_args={"timeout": 10, "check_same_thread": False}, **shared)

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        for pragma in _SQLITE_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        mode = connection.get_execution_options().get("sqlite_begin", "IMMEDIATE")
        if not mode:  # one statement is a transaction of its own
            return
        statement = f"BEGIN {mode}"
        try:
            connection.connection.execute(statement)
        except sqlite3.OperationalError as error:
            raise OperationalError(statement, None, error) from error

    return engine


def _dispose_in_children(engine: Engine) -> None:
    reference = weakref.ref(engine)

    def forget_connections() -> None:
        alive = reference()
        if alive is not None:
            alive.dispose(close=False)

    os.register_at_fork(after_in_child=forget_connections)


class CommitFlush:
    """Waits until a commit is on the disk.

    With `synchronous=FULL`, SQLite waits for the disk within the commit, while all other writers
    wait for their turn. With `NORMAL`, a commit is only appended to the write-ahead log, and `mark`
    notes the moment. `wait` then flushes the log, outside of the transaction, and one flush serves
    every commit that was appended before it began. `is_quick` says that this hardly takes time.
    """

    def __init__(
        self,
        database_file: str | None,
        flush: Callable[[int], None],
        moments: Iterator[int] | None = None,
    ) -> None:
        """Flush the log of a database.

        Args:
            flush: waits until an open file is on the disk.
            moments: numbers that rise; by default those from 1 on.
        """
        self._log = f"{database_file}-wal"
        self._flush = flush
        self._lock = Lock()
        self._moments = moments or count(1)
        self._flushed_until = 0
        self._last_s = deque([0.0] * _REMEMBERED, _REMEMBERED)
        self.is_quick = True

    def mark(self) -> int:
        """Return this moment, after a commit."""
        return next(self._moments)

    def wait(self, committed_at: int) -> None:
        """Return when everything that was committed before this moment is on the disk.

        Raises:
            ServiceUnavailable: the disk does not take it.
        """
        with self._lock:
            if self._flushed_until > committed_at:
                return
            began_at = next(self._moments)
            try:
                started_s = time.monotonic()
                self._flush_log()
                self._last_s.append(time.monotonic() - started_s)
                # Not the mean: a thread that waits for its turn after the flush measures more than the disk.
                self.is_quick = sorted(self._last_s)[1] < _QUICK_S
            except OSError as error:
                raise ServiceUnavailable(
                    "The disk did not confirm the change: check whether it was made, then try again."
                ) from error
            self._flushed_until = began_at

    def _flush_log(self) -> None:
        # Without the file, its content has been moved to the database file and flushed.
        with suppress(FileNotFoundError):
            handle = os.open(self._log, os.O_RDONLY)
            try:
                self._flush(handle)
            finally:
                os.close(handle)
