"""Files of the SQLite database: copied, replaced and checked."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from app.core.private_files import sync
from app.core.settings import Settings
from app.core.storage.files import require_space
from app.operations.failure import CannotRun

_REVIVED = """
    SELECT 'API key', new.name FROM api_keys AS new JOIN old.api_keys AS former USING (id)
    WHERE new.revoked_at IS NULL AND former.revoked_at IS NOT NULL
    UNION ALL
    SELECT 'person', new.name FROM users AS new JOIN old.users AS former USING (id)
    WHERE new.disabled_at IS NULL AND former.disabled_at IS NOT NULL
"""


def copy(settings: Settings, target: Path) -> None:
    """Write a consistent copy of the database into a new file, while it is in use.

    Raises:
        CannotRun: there is no database, or the copy is damaged.
    """
    source = settings.sqlite_file
    if not source.is_file():
        raise CannotRun(f"there is no database {source} yet: start the service first")
    require_space(target.parent, source.stat().st_size, settings.min_free_bytes)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(source, timeout=30)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    if problems := check_file(target):
        raise CannotRun(f"the copy is damaged: {problems[0]}")


def replace(settings: Settings, source: Path) -> Path | None:
    """Put a copy of `source` in the place of the database.

    Returns:
        The file of the former database, if there was one.

    Raises:
        CannotRun: the source is damaged.
    """
    if problems := check_file(source):
        raise CannotRun(f"{source} is damaged: {problems[0]}")
    target = settings.sqlite_file
    partial = target.with_name(".restore.part")
    shutil.copyfile(source, partial)
    partial.chmod(0o600)
    sync(partial)
    old_database = _move_aside(target)
    partial.rename(target)
    sync(target.parent)
    return old_database


def check_file(file: Path) -> list[str]:
    """Return the problems of a database file: damaged pages, and references to missing rows."""
    try:
        with closing(_open_read_only(file)) as connection:
            results = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    problems = [] if results == ["ok"] else results
    return problems + [
        f"{row[0]}: row {row[1]} refers to a missing row of {row[2]}" for row in orphans
    ]


def revived(settings: Settings, old: Path) -> list[str]:
    """Return the API keys and people that a restore has brought back, by kind and name.

    They were revoked or disabled in the former database. None where it cannot be read.
    """
    try:
        with closing(_open_read_only(settings.sqlite_file)) as connection:
            connection.execute("ATTACH ? AS old", (f"{old.resolve().as_uri()}?mode=ro",))
            return [f"{kind} {name!r}" for kind, name in connection.execute(_REVIVED)]
    except sqlite3.DatabaseError:
        return []


def checkpoint(settings: Settings) -> None:
    """Write the write-ahead log back into the database; it grows while there is always a reader."""
    if settings.is_sqlite:
        with closing(sqlite3.connect(settings.sqlite_file, timeout=1)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _open_read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=30)


def _move_aside(target: Path) -> Path | None:
    if not target.exists():
        return None
    with closing(sqlite3.connect(target, timeout=5)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    old = target.with_name(f"{target.name}.before-restore-{int(time.time())}")
    target.rename(old)
    for tail in ("-wal", "-shm"):
        target.with_name(target.name + tail).unlink(missing_ok=True)
    return old
