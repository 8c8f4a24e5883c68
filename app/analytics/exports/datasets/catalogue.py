"""Catalogue of the datasets: their columns, and their rows as of one moment, in batches.

While a SQLite transaction reads, its write-ahead log cannot be emptied and grows with every write.
So one statement copies the rows to a file first, which takes seconds where the work on the rows takes
minutes. PostgreSQL keeps old row versions; there a server-side cursor reads them.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import CreateTableAs, Select, StaticPool, create_engine, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.analytics.engine.reader import open_facts
from app.analytics.enums import Dataset
from app.analytics.exports.datasets import details, evaluations, reports
from app.analytics.exports.datasets.columns import (
    Column,
    LargeDataset,
    Row,
    Rows,
    Values,
    by_column,
)
from app.analytics.exports.request import ExportRequest
from app.core.database.session import Database
from app.core.process.stopping import Stopped
from app.core.runtime import Runtime
from app.evaluations import listing
from app.evaluations.models import Evaluation
from app.people import team_rows

_LARGE: Mapping[Dataset, LargeDataset] = {
    Dataset.EVALUATIONS: evaluations.DATASET,
    Dataset.CRITERIA: details.CRITERIA,
    Dataset.SEGMENTS: details.SEGMENTS,
    Dataset.COACHING: details.COACHING,
    Dataset.MOMENTS: details.MOMENTS,
}
COLUMNS: Mapping[Dataset, Sequence[Column]] = {
    **{name: dataset.columns for name, dataset in _LARGE.items()},
    Dataset.COACHING_SESSIONS: reports.COACHING_SESSION_COLUMNS,
    Dataset.EXECUTIVES: reports.EXECUTIVE_COLUMNS,
    Dataset.CAMPAIGNS: reports.LEADERBOARD_COLUMNS,
    Dataset.CALL_CENTERS: reports.LEADERBOARD_COLUMNS,
    Dataset.TRENDS: reports.TREND_COLUMNS,
    Dataset.USAGE: reports.USAGE_COLUMNS,
}
_ROWS_OF = {
    Dataset.USAGE: reports.usage_rows,
    Dataset.COACHING_SESSIONS: reports.coaching_session_rows,
}
_EVALUATION = Evaluation.__table__.c
_CHECK_EVERY_STEPS = 1_000_000


def columns_of(request: ExportRequest) -> list[Column]:
    """Return the requested columns in the requested order; all of them by default."""
    known = {column.name: column for column in COLUMNS[request.dataset]}
    return [known[name] for name in request.columns or known]


def least_rows(session: Session, request: ExportRequest, *, above: int = 0) -> int:
    """Return a lower bound of the number of rows now; 0 if it is not `above` a number.

    It is 0 for small datasets as well. Rows are counted only where there are enough evaluations.
    """
    dataset = _LARGE.get(request.dataset)
    if dataset is None or dataset.least_rows is None:
        return 0
    if request.dataset is not Dataset.SEGMENTS and listing.count_all(session) <= above:
        return 0
    return session.scalar(_matching(dataset.least_rows, request).order_by(None)) or 0


def batches(
    runtime: Runtime, request: ExportRequest, snapshot: Path, must_end: Callable[[], bool]
) -> Generator[tuple[Sequence[Values], float], None, None]:
    """Yield the rows as of one moment, column by column, and the share that is read, 0 to 1.

    Args:
        snapshot: a file for a copy of the rows; the caller deletes it.
        must_end: called while the rows are copied.

    Raises:
        Stopped: `must_end` returned true.
    """
    names = [column.name for column in COLUMNS[request.dataset]]
    places = [names.index(column.name) for column in columns_of(request)]
    for columns, progress in _batches(runtime, request, snapshot, must_end):
        if columns:
            yield [columns[place] for place in places], progress


def _batches(
    runtime: Runtime, request: ExportRequest, snapshot: Path, must_end: Callable[[], bool]
) -> Iterator[tuple[list[Values], float]]:
    dataset = _LARGE.get(request.dataset)
    if dataset is None:
        yield by_column(_small_dataset(runtime, request)), 1.0
        return
    db, size = runtime.db, dataset.batch_size
    statement = _matching(dataset.statement, request)
    if runtime.settings.is_sqlite:
        snapshot_rows = _copied(db, statement, snapshot, size, must_end)
    else:
        snapshot_rows = _streamed(db, statement, size)
    for rows, progress in snapshot_rows:
        yield dataset.values(rows, request), progress


def _small_dataset(runtime: Runtime, request: ExportRequest) -> list[Row]:
    """Return all rows at once: there are hundreds, not millions."""
    if (rows_of := _ROWS_OF.get(request.dataset)) is not None:
        with runtime.db.reading() as session:
            return rows_of(session, request)
    is_trend = request.dataset is Dataset.TRENDS
    with open_facts(runtime) as facts:
        return (reports.trend_rows if is_trend else reports.leaderboard_rows)(facts, request)


def _matching(statement: Select[Any], request: ExportRequest) -> Select[Any]:
    """Restrict a statement to the evaluations that match the request, the oldest first."""
    filters: dict[str, Any] = dict(request.filters)
    if request.start is not None:
        filters["start"] = request.start
    if request.end is not None:
        filters["end"] = request.end
    if filters.pop("current", True):
        # This form uses no index: nearly every row is current, and the order is by id.
        statement = statement.where(_EVALUATION.is_current.is_not(False))
    conditions = listing.conditions(current=False, **filters)
    return statement.where(*conditions).order_by(_EVALUATION.id)


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
    team_rows.install(engine, schema="live")
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
