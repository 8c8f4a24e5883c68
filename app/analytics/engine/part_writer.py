"""Writer of parts: moves pending facts into the files of their months, while others read and write."""

import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, text, update
from sqlalchemy.orm import Session

from app.analytics.engine import layouts, loading, part_files, parts
from app.analytics.engine.database import FactDatabase
from app.analytics.engine.parts import Part
from app.analytics.models import EvaluationFact
from app.core.database.locks import one_at_a_time
from app.core.database.session import Database
from app.core.private_files import sync

if TYPE_CHECKING:
    import duckdb

# Limits the memory of one run, and the time for which its transaction blocks writers.
_BATCH = 20_000
# Each run writes the files of its months again, so that few large runs take less time.
REBUILD_BATCH = 100_000
_FACT = EvaluationFact.__table__.c
_MARK = (
    update(EvaluationFact)
    .where(_FACT.id == bindparam("fact_id"))
    .values(part=bindparam("month"), is_pending=_FACT.version != bindparam("written_version"))
)
_KEPT_ROWS = "SELECT * FROM read_parquet($former) WHERE id NOT IN (SELECT id FROM changed)"
# Only these are sorted: sorting the whole part would need memory that grows with it.
_CHANGED_ROWS = (
    "(SELECT * FROM changed WHERE strftime(created_at, '%Y-%m') = $month ORDER BY created_at, id)"
)
_FORMAT = "FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 61440"


def pending_count(session: Session) -> int:
    """Return the number of pending facts."""
    statement = select(func.count()).select_from(EvaluationFact).where(EvaluationFact.is_pending)
    return session.scalar(statement) or 0


def write_pending(db: Database, database: FactDatabase, *, limit: int = _BATCH) -> int:
    """Move at most `limit` pending facts into parts, the newest first; return how many.

    New files are written and synced first; one transaction then registers them and marks the
    facts. After a kill in between, the facts are still pending and the files are never read.
    """
    discard_lost(db, database)
    with db.reading() as session:
        rows = _pending(session, limit)
        former = {part.month: part for part in parts.registered(session, database.folder)}
        score_count = layouts.widest(session)
    if not rows:
        return 0
    months = {row.id: parts.month_of(row.created_at) for row in rows}
    touched = {*months.values(), *(row.part for row in rows if row.part)}
    with closing(database.cursor()) as cursor:
        loading.create_table(cursor, "changed", score_count=score_count)
        loading.insert(cursor, "changed", rows, score_count=score_count)
        written = {
            month: write_part(cursor, database.folder, month, former.get(month))
            for month in touched
        }
    part_files.share(database, filter(None, written.values()))
    marks = [
        {"fact_id": row.id, "month": months[row.id], "written_version": row.version} for row in rows
    ]
    with db.writing() as session:
        one_at_a_time(session, "analytics parts")
        if not _is_current(session, database.folder, former, touched):
            return 0
        for month, part in written.items():
            parts.register(session, month, part)
        session.connection().execute(_MARK, marks)
    replaced = [former[month] for month in touched & former.keys()]
    for part in replaced:
        os.utime(part.path)
    part_files.withdraw(database, replaced)
    return len(rows)


def discard_lost(db: Database, database: FactDatabase) -> None:
    """Discard the parts whose files are missing or truncated; their facts become pending.

    Raises:
        StorageAway: the shared storage does not answer, so that lost files are unknown.
    """
    part_files.fetch_missing(db, database)
    with db.reading() as session:
        lost = [part for part in parts.registered(session, database.folder) if not part.is_readable]
    if lost:
        with db.writing() as session:
            for part in lost:
                parts.discard(session, part.month)


def _pending(session: Session, limit: int) -> Any:
    return session.execute(
        select(*loading.selected(), _FACT.version, _FACT.part)
        .where(_FACT.is_pending)
        .order_by(_FACT.created_at.desc())
        .limit(limit)
    ).all()


def write_part(
    cursor: "duckdb.DuckDBPyConnection", folder: Path, month: str, former: Part | None
) -> Part | None:
    """Write a new file for a month; return None when the month has no facts."""
    path = folder / f"{month}-{secrets.token_hex(8)}.parquet"
    parameters: dict[str, Any] = {"month": month}
    rows = _CHANGED_ROWS
    if former is not None:
        rows = f"{_KEPT_ROWS} UNION ALL BY NAME {_CHANGED_ROWS}"
        parameters["former"] = [str(former.path)]
    cursor.execute(f"COPY ({rows}) TO '{path}' ({_FORMAT})", parameters)
    cursor.execute(
        "SELECT count(*), min(created_at), max(created_at) FROM read_parquet($path)",
        {"path": [str(path)]},
    )
    count, first_at, last_at = cursor.fetchone() or (0, None, None)
    if not count:
        path.unlink()
        return None
    sync(path)
    sync(folder)
    first_at, last_at = first_at.replace(tzinfo=UTC), last_at.replace(tzinfo=UTC)
    return Part(month, path, path.stat().st_size, count, first_at, last_at)


def _is_current(
    session: Session, folder: Path, former: Mapping[str, Part], months: Iterable[str]
) -> bool:
    """Return whether the parts that the new ones replace are still registered."""
    if session.get_bind().dialect.name == "postgresql":
        # Shorter than PostgreSQL's deadlock timeout, so that this transaction fails and no other.
        session.execute(text("SET LOCAL lock_timeout = '500ms'"))
    now = {part.month: part for part in parts.registered(session, folder)}
    return all(now.get(month) == former.get(month) for month in months)
