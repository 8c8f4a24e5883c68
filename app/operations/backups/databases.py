"""Databases in a backup: a copy of the SQLite file, or a dump of PostgreSQL."""

import os
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import inspect, make_url

from app.core.private_files import sync
from app.core.settings import Settings
from app.core.storage.files import require_space
from app.operations.failure import CannotRun
from app.operations.migrating import migration_engine

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
        CannotRun: there is no database, the copy is damaged, or pg_dump is missing or fails.
    """
    if settings.is_sqlite:
        _copy_file(settings, target)
    else:
        _run(settings, "pg_dump", "--format=custom", "--no-owner", f"--file={target}")
        target.chmod(0o600)


def restore(settings: Settings, source: Path) -> Path | None:
    """Put a copy in the place of the SQLite database, or load it into an empty one of PostgreSQL.

    Returns:
        The file of the former SQLite database, if there was one.

    Raises:
        CannotRun: the source is damaged, or pg_restore is missing or fails.
    """
    if settings.is_sqlite:
        return _replace_file(settings, source)
    options = ("--no-owner", "--exit-on-error", "--single-transaction")
    _run(settings, "pg_restore", *options, str(source))
    return None


def require_empty(settings: Settings) -> None:
    """Raise `CannotRun` if the database has tables: a restore overwrites none."""
    with migration_engine(settings).connect() as connection:
        if inspect(connection).get_table_names():
            raise CannotRun(
                "the PostgreSQL database is not empty: create an empty one, and set "
                "CQE_DATABASE_URL to it"
            )


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


def _copy_file(settings: Settings, target: Path) -> None:
    source = settings.sqlite_file
    if not source.is_file():
        raise CannotRun(f"there is no database {source} yet: start the service first")
    require_space(target.parent, source.stat().st_size, settings.min_free_bytes)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(source, timeout=30)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    if problems := check_file(target):
        raise CannotRun(f"the copy is damaged: {problems[0]}")


def _replace_file(settings: Settings, source: Path) -> Path | None:
    if problems := check_file(source):
        raise CannotRun(f"{source} is damaged: {problems[0]}")
    target = settings.sqlite_file
    partial = target.with_name(".restore.part")
    shutil.copyfile(source, partial)
    partial.chmod(0o600)
    sync(partial)
    old_database = _keep_former(target)
    # One step: after a kill the former database is here or the new one, and no start makes an empty one.
    partial.rename(target)
    sync(target.parent)
    return old_database


def _open_read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=30)


def _keep_former(target: Path) -> Path | None:
    """Give the database, which may be damaged, a second name; return it."""
    if not target.exists():
        return None
    with (
        suppress(sqlite3.DatabaseError),
        closing(sqlite3.connect(target, timeout=5)) as connection,
    ):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    old = target.with_name(f"{target.name}.before-restore-{time.time_ns() // 1_000_000}")
    old.hardlink_to(target)
    for tail in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            target.with_name(target.name + tail).rename(old.with_name(old.name + tail))
    return old


def _run(settings: Settings, program: str, *options: str) -> None:
    path = shutil.which(program)
    if path is None:
        raise CannotRun(
            f"{program} is missing: install the client programs of PostgreSQL, in the version of "
            "the server or a newer one"
        )
    url = make_url(settings.effective_database_url)
    # The arguments of a process can be read by others, its environment cannot.
    environment = {**os.environ, "PGPASSWORD": url.password or ""}
    address = url.set(drivername="postgresql", password=None).render_as_string()
    result = subprocess.run(  # noqa: S603 - found above, no shell
        [path, f"--dbname={address}", *options],
        env=environment if url.password else None,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        reason = " ".join(result.stderr.split())
        raise CannotRun(f"{program} failed: {reason or result.returncode}")
