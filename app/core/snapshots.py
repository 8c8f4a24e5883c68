"""Large reads as of one moment, in batches: no writer waits, and no transaction stays open for long.

While a transaction of SQLite reads, its log cannot be emptied and grows with every write. So what
is to be read is copied first, in one statement, into a file of its own: that takes seconds where
the work on the rows takes minutes. Other databases keep old versions of rows apart; there a cursor
on the server does.
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

_LOOK_EVERY_STEPS = 1_000_000


def batches(
    db: Database,
    wanted: Select[Any],
    copy: Path,
    *,
    size: int,
    must_end: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that a select finds now, and the share of them that is read, 0 to 1.

    Args:
        wanted: its columns bear different names. The values come as the driver gives them: on
            SQLite moments are texts and truths are 0 and 1.
        copy: a file that need not be there; whoever calls deletes it.
        must_end: asked while the rows are copied.

    Raises:
        Stopped: `must_end` said yes.
    """
    if db.engine.dialect.name == "sqlite":
        return _copied(db, wanted, copy, size, must_end)
    return _streamed(db, wanted, size)


def _copied(
    db: Database, wanted: Select[Any], copy: Path, size: int, must_end: Callable[[], bool]
) -> Iterator[tuple[Rows, float]]:
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(copy, timeout=10, isolation_level=None)) as connection:
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("ATTACH ? AS live", (db.engine.url.database,))
        connection.set_progress_handler(must_end, _LOOK_EVERY_STEPS)
        _copy(connection, wanted, must_end)
        connection.set_progress_handler(None, 0)
        connection.execute("DETACH live")
        (total,) = connection.execute("SELECT max(rowid) FROM copied").fetchone()
        cursor, seen = connection.execute("SELECT * FROM copied"), 0
        while rows := cursor.fetchmany(size):
            seen += len(rows)
            yield rows, seen / total


def _copy(
    connection: sqlite3.Connection, wanted: Select[Any], must_end: Callable[[], bool]
) -> None:
    engine = create_engine(
        "sqlite://", creator=lambda: connection, poolclass=StaticPool, hide_parameters=True
    )
    try:
        with engine.connect() as live:
            live.execute(CreateTableAs(wanted, "copied"))
    except OperationalError as error:
        if must_end():
            raise Stopped from error
        raise


def _streamed(db: Database, wanted: Select[Any], size: int) -> Iterator[tuple[Rows, float]]:
    with db.reading() as session:
        connection = session.connection()
        counted = select(func.count()).select_from(wanted.order_by(None).subquery())
        total = connection.execute(counted).scalar_one()
        seen = 0
        with connection.execute(wanted, execution_options={"yield_per": size}) as found:
            for rows in found.partitions():
                seen += len(rows)
                yield rows, seen / total
