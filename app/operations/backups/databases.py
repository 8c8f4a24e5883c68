"""Databases in a backup: a copy of the SQLite file, or a dump of PostgreSQL."""

import os
import re
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from sqlalchemy import inspect, make_url

from app.core.secrets.private_files import sync
from app.core.settings import Settings
from app.core.storage.files import require_space
from app.evaluations.models import SEARCH_INDEX
from app.operations.failure import CannotRun
from app.operations.migrating import migration_engine

_REVIVED = """
    SELECT 'API key', new.name FROM api_keys AS new JOIN old.api_keys AS former USING (id)
    WHERE new.revoked_at IS NULL AND former.revoked_at IS NOT NULL
    UNION ALL
    SELECT 'person', new.name FROM users AS new JOIN old.users AS former USING (id)
    WHERE new.disabled_at IS NULL AND former.disabled_at IS NOT NULL
"""

_FOREIGN = """
    SELECT CASE type WHEN 'trigger' THEN 'trigger' WHEN 'view' THEN 'view' ELSE 'table' END, name
    FROM sqlite_master WHERE type NOT IN ('table', 'index') OR type = 'table' AND rootpage = 0
"""
_ENTRY_NUMBERS = re.compile(r"^\d+; \d+ \d+ ")
_OWN_ENTRY = re.compile(
    _ENTRY_NUMBERS.pattern
    + r"(TABLE|TABLE DATA|SEQUENCE|SEQUENCE OWNED BY|SEQUENCE SET|DEFAULT|CONSTRAINT|FK CONSTRAINT|INDEX) "
)


def copy(settings: Settings, target: Path) -> None:
    """Write a consistent copy of the database into a new file, while it is in use.

    Raises:
        CannotRun: there is no database, the copy is damaged, or pg_dump is missing or fails.
    """
    if settings.is_sqlite:
        _copy_file(settings, target)
    else:
        _run("pg_dump", "--format=custom", "--no-owner", f"--file={target}", settings=settings)
        target.chmod(0o600)


def drop_foreign(file: Path) -> list[str]:
    """Drop what acts by itself and CQE never makes; return what it was, by kind and name.

    These are triggers, views and virtual tables: somebody has added them, perhaps to the backup. The
    index of what was said is dropped, too, and not named: it is rebuilt.
    """
    with closing(_open(file, "rw")) as connection:
        found = connection.execute(_FOREIGN).fetchall()
        for kind, name in found:
            quoted = name.replace('"', '""')
            connection.execute(f'DROP {kind} IF EXISTS "{quoted}"')
    return [f"{kind} {name!r}" for kind, name in found if name != SEARCH_INDEX]


def put_in_place(settings: Settings, new: Path) -> Path | None:
    """Put a file in the place of the SQLite database; return the file of the former one, if any."""
    target = settings.sqlite_file
    old_database = _keep_former(target)
    # One step: after a kill the former database is here or the new one, and no start makes an empty one.
    new.rename(target)
    sync(target.parent)
    return old_database


def load_dump(settings: Settings, dump: BinaryIO) -> list[str]:
    """Load a dump into an empty database of PostgreSQL, but what CQE never makes; return that.

    Raises:
        CannotRun: pg_restore is missing or fails.
    """
    listed = _run("pg_restore", "--list", source=dump).splitlines()
    entries = [line for line in listed if line and not line.startswith(";")]
    own = [entry for entry in entries if _OWN_ENTRY.match(entry)]
    with NamedTemporaryFile("w", encoding="utf-8") as chosen:
        chosen.write("\n".join(own) + "\n")
        chosen.flush()
        options = ("--no-owner", "--exit-on-error", "--single-transaction")
        dump.seek(0)
        _run("pg_restore", *options, f"--use-list={chosen.name}", settings=settings, source=dump)
    return [_ENTRY_NUMBERS.sub("", entry) for entry in entries if entry not in own]


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
        with closing(_open(file, "ro")) as connection:
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
        with closing(_open(settings.sqlite_file, "ro")) as connection:
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
        # Of a database that cannot be read, VACUUM would say that its target cannot be opened.
        connection.execute("SELECT count(*) FROM sqlite_schema")
        connection.execute("VACUUM INTO ?", (str(target),))
    if problems := check_file(target):
        raise CannotRun(f"the copy is damaged: {problems[0]}")


def _open(file: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode={mode}", uri=True, timeout=30)
    # The file may be of a backup: expressions in its tables may call nothing with side effects.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


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


def _run(
    program: str,
    *options: str,
    settings: Settings | None = None,
    source: BinaryIO | None = None,
) -> str:
    """Run a program of PostgreSQL, with settings on their database; return what it prints."""
    path = shutil.which(program)
    if path is None:
        raise CannotRun(
            f"{program} is missing: install the client programs of PostgreSQL, in the version of "
            "the server or a newer one"
        )
    environment = None
    if settings is not None:
        url = make_url(settings.effective_database_url)
        address = url.set(drivername="postgresql", password=None).render_as_string()
        options = (f"--dbname={address}", *options)
        # The arguments of a process can be read by others, its environment cannot.
        environment = {**os.environ, "PGPASSWORD": url.password} if url.password else None
    result = subprocess.run(  # noqa: S603 - found above, no shell
        [path, *options],
        env=environment,
        stdin=source,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        reason = " ".join(result.stderr.split())
        raise CannotRun(f"{program} failed: {reason or result.returncode}")
    return result.stdout
