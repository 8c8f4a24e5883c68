"""Snapshots: large reads as of one moment, in batches, that block no writer.

While a SQLite transaction reads, its write-ahead log cannot be emptied and grows with every write.
So one statement copies the rows to a file first, which takes seconds where the work on the rows takes
minutes. PostgreSQL keeps old row versions; there a server-side cursor reads them.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import CreateTableAs, Select, StaticPool, create_engine, func, select
from sqlalchemy.exc import OperationalError

from app.core.database.session import Database
from app.core.process.stopping import Stopped

Rows: TypeAlias = Sequence[Sequence[Any]]

_CHECK_EVERY_STEPS = 1_000_000


def batches(
    db: Database,
    statement: Select[Any],
    copy: Path,
    *,
    size: int,
    must_end: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that a statement selects now, and the share of them that is read, 0 to 1.

    Args:
        statement: its columns have distinct names. The values are those of the driver: on SQLite,
            times are texts and booleans are 0 and 1.
        copy: the file for the copy; the caller deletes it.
        must_end: called while the rows are copied.

    Raises:
        Stopped: `must_end` returned true.
    """
    if db.engine.dialect.name == "sqlite":
        return _copied(db, statement, copy, size, must_end)
    return _streamed(db, statement, size)


def _copied(
    db: Database, statement: Select[Any], copy: Path, size: int, must_end: Callable[[], bool]
) -> Iterator[tuple[Rows, float]]:
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(copy, timeout=10, isolation_level=None)) as connection:
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("ATTACH ? AS live", (db.engine.url.database,))
        connection.set_progress_handler(must_end, _CHECK_EVERY_STEPS)
        _copy(connection, statement, must_end)
        connection.set_progress_handler(None, 0)
        connection.execute("DETACH live")
        (total,) = connection.execute("SELECT max(rowid) FROM copied").fetchone()
        cursor, read_count = connection.execute("SELECT * FROM copied"), 0
        while rows := cursor.fetchmany(size):
            read_count += len(rows)
            yield rows, read_count / total


def _copy(
    connection: sqlite3.Connection, statement: Select[Any], must_end: Callable[[], bool]
) -> None:
    engine = create_engine(
        "sqlite://", creator=lambda: connection, poolclass=StaticPool, hide_parameters=True
    )
    try:
        with engine.connect() as live:
            live.execute(CreateTableAs(statement, "copied"))
    except OperationalError as error:
        if must_end():
            raise Stopped from error
        raise


def _streamed(db: Database, statement: Select[Any], size: int) -> Iterator[tuple[Rows, float]]:
    with db.reading() as session:
        connection = session.connection()
        counted = select(func.count()).select_from(statement.order_by(None).subquery())
        total = connection.execute(counted).scalar_one()
        read_count = 0
        with connection.execute(statement, execution_options={"yield_per": size}) as result:
            for rows in result.partitions():
                read_count += len(rows)
                yield rows, read_count / total
