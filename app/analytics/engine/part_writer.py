"""Writer of parts: moves pending facts into the files of their months, while others read and write."""

import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, text, update
from sqlalchemy.orm import Session

from app.analytics.engine import layouts, loading, parts
from app.analytics.engine.database import FactDatabase, spill_folder
from app.analytics.engine.parts import Part
from app.analytics.models import EvaluationFact
from app.core.database.session import Database
from app.core.private_files import sync

if TYPE_CHECKING:
    import duckdb

# Limits the memory of one run, and the time for which its transaction blocks writers.
_BATCH = 20_000
# A file that is no longer registered is kept for running readers.
_KEPT_S = 600
_SPILL_KEPT_S = 86_400
_FACT = EvaluationFact.__table__.c
_MARK = (
    update(EvaluationFact)
    .where(_FACT.id == bindparam("fact_id"))
    .values(part=bindparam("month"), is_pending=_FACT.version != bindparam("written_version"))
)
_KEPT_ROWS = "SELECT * FROM read_parquet($former) WHERE id NOT IN (SELECT id FROM changed)"
_CHANGED_ROWS = "SELECT * FROM changed WHERE strftime(created_at, '%Y-%m') = $month"
_FORMAT = "FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 122880"


def pending_count(session: Session) -> int:
    """Return the number of pending facts."""
    statement = select(func.count()).select_from(EvaluationFact).where(EvaluationFact.is_pending)
    return session.scalar(statement) or 0


def write_pending(db: Database, database: FactDatabase) -> int:
    """Move at most 20,000 pending facts into parts, the newest first; return how many.

    New files are written and synced first; one transaction then registers them and marks the
    facts. After a kill in between, the facts are still pending and the files are never read.
    """
    discard_lost(db, database.folder)
    with db.reading() as session:
        rows = _pending(session)
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
            month: _write(cursor, database.folder, month, former.get(month)) for month in touched
        }
    marks = [
        {"fact_id": row.id, "month": months[row.id], "written_version": row.version} for row in rows
    ]
    with db.writing() as session:
        if not _is_current(session, database.folder, former, touched):
            return 0
        for month, part in written.items():
            parts.register(session, month, part)
        session.connection().execute(_MARK, marks)
    for month in touched & former.keys():
        os.utime(former[month].path)
    return len(rows)


def delete_unused(db: Database, folder: Path, *, kept_s: float = _KEPT_S) -> int:
    """Delete unregistered files, and spill folders of killed processes; return how many."""
    now = time.time()
    unused = [
        *(file for file in folder.glob("*.parquet") if file.stat().st_mtime < now - kept_s),
        *(file for file in folder.glob("spill-*") if file.stat().st_mtime < now - _SPILL_KEPT_S),
    ]
    with db.reading() as session:
        kept = {part.path for part in parts.registered(session, folder)}
    kept.add(spill_folder(folder, os.getpid()))
    unused = [file for file in unused if file not in kept]
    for file in unused:
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    return len(unused)


def discard_lost(db: Database, folder: Path) -> None:
    """Discard the parts whose files are missing or truncated; their facts become pending."""
    with db.reading() as session:
        lost = [part for part in parts.registered(session, folder) if not part.is_readable]
    if lost:
        with db.writing() as session:
            for part in lost:
                parts.discard(session, part.month)


def _pending(session: Session) -> Any:
    return session.execute(
        select(*loading.selected(), _FACT.version, _FACT.part)
        .where(_FACT.is_pending)
        .order_by(_FACT.created_at.desc())
        .limit(_BATCH)
    ).all()


def _write(
    cursor: "duckdb.DuckDBPyConnection", folder: Path, month: str, former: Part | None
) -> Part | None:
    """Write a new file for a month; return None when the month has no facts."""
    path = folder / f"{month}-{secrets.token_hex(8)}.parquet"
    given: dict[str, Any] = {"month": month}
    rows = _CHANGED_ROWS
    if former is not None:
        rows = f"{_KEPT_ROWS} UNION ALL BY NAME {_CHANGED_ROWS}"
        given["former"] = [str(former.path)]
    cursor.execute(f"COPY ({rows} ORDER BY created_at, id) TO '{path}' ({_FORMAT})", given)
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
    return Part(
        month,
        path,
        path.stat().st_size,
        count,
        first_at.replace(tzinfo=UTC),
        last_at.replace(tzinfo=UTC),
    )


def _is_current(
    session: Session, folder: Path, former: Mapping[str, Part], months: Iterable[str]
) -> bool:
    """Return whether the parts that the new ones replace are still registered."""
    if session.get_bind().dialect.name == "postgresql":
        # Shorter than PostgreSQL's deadlock timeout, so that this transaction fails and no other.
        session.execute(text("SET LOCAL lock_timeout = '500ms'"))
    now = {part.month: part for part in parts.registered(session, folder)}
    return all(now.get(month) == former.get(month) for month in months)
