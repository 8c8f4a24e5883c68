"""Request state in a SQLite file of its own, shared by the processes of one host."""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from app.core.database.locks import WriteLock
from app.core.request_limits.values import (
    Admission,
    CallCount,
    CountBatch,
    Limit,
    LimitStatus,
    Visit,
    status_of,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS limits(
  name TEXT PRIMARY KEY, arrival REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nonces(
  name TEXT PRIMARY KEY, expires REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls(
  batch TEXT NOT NULL, date TEXT NOT NULL, key_id TEXT NOT NULL, operation TEXT NOT NULL,
  number INTEGER NOT NULL, PRIMARY KEY (batch, date, key_id, operation)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS last_used(
  key_id TEXT PRIMARY KEY, moment REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS key_version(
  one INTEGER PRIMARY KEY CHECK (one = 1), version TEXT NOT NULL);
"""
_OPEN = ""  # the batch that calls are counted into


class StateFileError(Exception):
    """The file cannot be opened, read or written."""


class SqliteState:
    """Request state of one host: a kill loses nothing, a power loss may lose the last counts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._write_lock = WriteLock(str(file))
        self._local = threading.local()

    def visit(self, visit: Visit) -> Admission:
        """Check the nonce, spend the limits and count the call, in one write transaction."""
        now_s = visit.now.timestamp()
        with self._transaction() as connection:
            version = _key_version(connection)
            if visit.nonce and not _spend_nonce(connection, visit, now_s):
                return Admission(False, [], version)
            statuses = _spend_limits(connection, visit.limits, now_s)
            if visit.count is not None and all(status.wait_s == 0 for status in statuses):
                _add(connection, visit.count, 1)
                connection.execute(
                    "INSERT INTO last_used VALUES (?, ?) "
                    "ON CONFLICT DO UPDATE SET moment = max(moment, excluded.moment)",
                    (visit.count.key_id, now_s),
                )
            return Admission(True, statuses, version)

    def spend_nonce(self, visit: Visit) -> bool:
        """Spend only the nonce of a visit; return whether it was new."""
        with self._transaction() as connection:
            return _spend_nonce(connection, visit, visit.now.timestamp())

    def uncount(self, count: CallCount) -> None:
        """Take one call back."""
        with self._transaction() as connection:
            _add(connection, count, -1)

    def new_key_version(self) -> None:
        """Replace the version by a fresh random one."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO key_version VALUES (1, ?) "
                "ON CONFLICT DO UPDATE SET version = excluded.version",
                (token_hex(8),),
            )

    def take_counts(self, batch_id: str) -> CountBatch | None:
        """Set the counts aside under an id, or return the last batch if it was not dropped."""
        with self._transaction() as connection:
            pending = connection.execute("SELECT min(batch) FROM calls WHERE batch > ''").fetchone()
            if pending[0] is None:
                connection.execute("UPDATE calls SET batch = ? WHERE batch = ?", (batch_id, _OPEN))
            taken = pending[0] or batch_id
            rows = connection.execute(
                "SELECT key_id, date, operation, number FROM calls WHERE batch = ?", (taken,)
            ).fetchall()
            if not rows:
                return None
            seen = connection.execute("SELECT key_id, moment FROM last_used").fetchall()
        return CountBatch(
            taken,
            {
                CallCount(key_id, date, operation): number
                for key_id, date, operation, number in rows
            },
            {key_id: datetime.fromtimestamp(moment, UTC) for key_id, moment in seen},
        )

    def drop_counts(self, batch_id: str) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM calls WHERE batch = ?", (batch_id,))

    def purge(self, now_s: float) -> None:
        """Delete nonces and limits that no longer matter."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM nonces WHERE expires < ?", (now_s,))
            connection.execute("DELETE FROM limits WHERE arrival < ?", (now_s,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connection()
            with self._write_lock:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise StateFileError(str(error)) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None
        owner, connection = getattr(self._local, "opened", (0, None))
        if connection is None or owner != os.getpid():
            connection = sqlite3.connect(self._file, timeout=2, isolation_level=None)
            # Each call writes a few rows, which the other processes read again: small pages, little to copy.
            connection.execute("PRAGMA page_size=512")
            connection.execute("PRAGMA journal_mode=WAL")
            # A power failure loses the last counts and damages nothing.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint=4000")
            connection.executescript(_SCHEMA)
            self._local.opened = (os.getpid(), connection)
        return connection


def _key_version(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT version FROM key_version").fetchone()
    if row is None:
        row = (token_hex(8),)
        connection.execute("INSERT INTO key_version VALUES (1, ?)", row)
    return str(row[0])


def _spend_nonce(connection: sqlite3.Connection, visit: Visit, now_s: float) -> bool:
    row = connection.execute(
        "INSERT INTO nonces VALUES (?, ?) ON CONFLICT DO UPDATE "
        "SET expires = excluded.expires WHERE expires < ? RETURNING name",
        (visit.nonce, now_s + visit.nonce_life_s, now_s),
    ).fetchone()
    return row is not None


def _spend_limits(
    connection: sqlite3.Connection, limits: Sequence[Limit], now_s: float
) -> list[LimitStatus]:
    # GCRA: `arrival` is the time at which the limit would be wholly free again. A call moves it
    # by what it spends, and is denied if it would be more than a window ahead of now. One that is much
    # further ahead is of a clock that was set back since, and must not lock anybody out until then.
    arrivals: list[tuple[Limit, float, float, bool]] = []
    names = [limit.stored_name for limit in limits]
    for limit, name in zip(limits, names, strict=True):
        row = connection.execute("SELECT arrival FROM limits WHERE name = ?", (name,)).fetchone()
        is_known = row is not None and row[0] <= now_s + 2 * limit.window_s
        before = max(now_s, row[0]) if is_known else now_s
        after = before + limit.spent_s
        arrivals.append((limit, before, after, after - now_s > limit.window_s + 1e-6))
    denied = any(over for *_, over in arrivals)
    if not denied:
        connection.executemany(
            "INSERT INTO limits VALUES (?, ?) ON CONFLICT DO UPDATE SET arrival = excluded.arrival",
            [(name, after) for name, (_, _, after, _) in zip(names, arrivals, strict=True)],
        )
    return [
        status_of(limit, now_s, before if denied else after, denied=over)
        for limit, before, after, over in arrivals
    ]


def _add(connection: sqlite3.Connection, count: CallCount, number: int) -> None:
    connection.execute(
        "INSERT INTO calls VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET number = number + excluded.number",
        (_OPEN, count.date, count.key_id, count.operation, number),
    )
