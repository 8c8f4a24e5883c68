"""Parts: immutable Parquet files, each with the facts of one month; their registry and writer.

They are a cache: a fact that is pending, or whose part has no file, is read from the facts table. The
files are in a folder of this host, and in the storage where several hosts share one.
"""

import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, select, text, update
from sqlalchemy.orm import Session

from app.analytics.engine.database import (
    FactDatabase,
    create_table,
    fact_columns,
    insert_facts,
    spill_folder,
)
from app.analytics.engine.facts import all_layouts, widest
from app.analytics.models import EvaluationFact, FactPart
from app.core.clock import as_utc
from app.core.database.locks import one_at_a_time
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.secrets.private_files import sync

if TYPE_CHECKING:
    import duckdb

logger = logging.getLogger(__name__)
_OBJECT_PREFIX = "par"
# A file that is no longer registered is kept for running readers.
_KEPT_S = 600
_SPILL_KEPT_S = 86_400
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
    "(SELECT * FROM changed WHERE strftime(conversation_at, '%Y-%m') = $month "
    "ORDER BY conversation_at, id)"
)
_FORMAT = "FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 61440"


@dataclass(frozen=True, slots=True)
class Part:
    """One registered file: its month, and the first and the last `conversation_at` in it."""

    month: str
    path: Path
    size_bytes: int
    row_count: int
    first_at: datetime
    last_at: datetime

    @property
    def is_readable(self) -> bool:
        try:
            return self.path.stat().st_size == self.size_bytes
        except FileNotFoundError:
            return False


def registered(session: Session, folder: Path) -> list[Part]:
    return [
        Part(row.month, folder / row.file, row.size_bytes, row.row_count, row.first_at, row.last_at)
        for row in session.scalars(select(FactPart).order_by(FactPart.month))
    ]


def register(session: Session, month: str, part: Part | None) -> None:
    """Replace the part of a month; with None, the month has no part."""
    if part is None:
        session.execute(delete(FactPart).where(FactPart.month == month))
        return
    session.merge(
        FactPart(
            month=month,
            file=part.path.name,
            size_bytes=part.size_bytes,
            row_count=part.row_count,
            first_at=part.first_at,
            last_at=part.last_at,
        )
    )


def discard(session: Session, month: str) -> None:
    register(session, month, None)
    session.execute(
        update(EvaluationFact)
        .where(EvaluationFact.part == month)
        .values(part=None, is_pending=True),
        execution_options={"synchronize_session": False},
    )


def pending_count(session: Session) -> int:
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
        former = {part.month: part for part in registered(session, database.folder)}
        score_count = widest(all_layouts(session))
    if not rows:
        return 0
    months = {row.id: as_utc(row.conversation_at).isoformat()[:7] for row in rows}
    touched = {*months.values(), *(row.part for row in rows if row.part)}
    with closing(database.cursor()) as cursor:
        create_table(cursor, "changed", score_count=score_count)
        insert_facts(cursor, "changed", rows, score_count=score_count)
        written = {
            month: write_part(cursor, database.folder, month, former.get(month))
            for month in touched
        }
    _share(database, filter(None, written.values()))
    marks = [
        {"fact_id": row.id, "month": months[row.id], "written_version": row.version} for row in rows
    ]
    with db.writing() as session:
        one_at_a_time(session, "analytics parts")
        if not _is_current(session, database.folder, former, touched):
            return 0
        for month, part in written.items():
            register(session, month, part)
        session.connection().execute(_MARK, marks)
    replaced = [former[month] for month in touched & former.keys()]
    for part in replaced:
        os.utime(part.path)
    _withdraw(database, replaced)
    return len(rows)


def discard_lost(db: Database, database: FactDatabase) -> None:
    """Discard the parts whose files are missing or truncated; their facts become pending.

    Raises:
        StorageAway: the shared storage does not answer, so that lost files are unknown.
    """
    fetch_missing(db, database)
    with db.reading() as session:
        lost = [part for part in registered(session, database.folder) if not part.is_readable]
    if lost:
        with db.writing() as session:
            for part in lost:
                discard(session, part.month)


def fetch_missing(db: Database, database: FactDatabase) -> None:
    """Copy the parts that this host lacks from the shared storage, outside of any transaction.

    Raises:
        StorageAway: the storage does not answer.
    """
    if database.storage is None:
        return
    with db.reading() as session:
        known = registered(session, database.folder)
    fetched = [_fetch(database, part) for part in known if not part.is_readable]
    if any(fetched):
        delete_unused(db, database.folder)


def delete_unused(db: Database, folder: Path, *, kept_s: float = _KEPT_S) -> int:
    """Delete unregistered files, and spill folders of killed processes; return how many."""
    now = time.time()
    unused = [
        *(file for file in folder.glob("*.par*") if file.stat().st_mtime < now - kept_s),
        *(file for file in folder.glob("spill-*") if file.stat().st_mtime < now - _SPILL_KEPT_S),
    ]
    with db.reading() as session:
        in_use = {part.path for part in registered(session, folder)}
    in_use.add(spill_folder(folder, os.getpid()))
    unused = [file for file in unused if file not in in_use]
    for file in unused:
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
    return len(unused)


def orphaned(session: Session, folder: Path, object_ids: Sequence[str]) -> list[str]:
    known = {_object_id(part) for part in registered(session, folder)}
    return [name for name in object_ids if name not in known]


def _pending(session: Session, limit: int) -> Any:
    return session.execute(
        select(*fact_columns(), _FACT.version, _FACT.part)
        .where(_FACT.is_pending)
        .order_by(_FACT.conversation_at.desc())
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
        "SELECT count(*), min(conversation_at), max(conversation_at) FROM read_parquet($path)",
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
    now = {part.month: part for part in registered(session, folder)}
    return all(now.get(month) == former.get(month) for month in months)


def _share(database: FactDatabase, new: Iterable[Part]) -> None:
    if database.storage is not None:
        for part in new:
            with part.path.open("rb") as file:
                database.storage.write(_object_id(part), file, size_bytes=part.size_bytes)


def _withdraw(database: FactDatabase, former: Iterable[Part]) -> None:
    """Delete replaced parts from the shared storage; a failure leaves an orphan."""
    if database.storage is None:
        return
    try:
        for part in former:
            database.storage.delete(_object_id(part))
    except ServiceUnavailable as error:
        logger.warning("replaced parts stay in the storage for now: %s", error)


def _fetch(database: FactDatabase, part: Part) -> bool:
    assert database.storage is not None  # noqa: S101 - checked by the caller
    with database.storage.local_copy(_object_id(part)) as copy:
        if copy is None or copy.path.stat().st_size != part.size_bytes:
            return False
        # Under a name of its own, because other processes may fetch the same part.
        partial = part.path.with_suffix(f".part-{secrets.token_hex(8)}")
        shutil.copyfile(copy.path, partial)
    os.replace(partial, part.path)
    return True


def _object_id(part: Part) -> str:
    """Return the name of a part in the storage."""
    return f"{_OBJECT_PREFIX}_{part.path.stem.replace('-', '_')}"
