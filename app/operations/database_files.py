"""Backups of the SQLite database: made while it is in use, checked, and put back (security, 6.4)."""

import hashlib
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from app.core.clock import iso_utc, utc_now
from app.core.database.schema_revision import is_known, needed_revision
from app.core.settings import Settings
from app.operations import data_dir
from app.operations.failure import CannotRun

_KEPT_BACKUPS = 5


def backup(settings: Settings, target: Path) -> dict[str, Any]:
    """Write a consistent copy and beside it `FILE.json`, which says what it is; return that.

    Raises:
        CannotRun: the file is there already, or the copy is not sound.
    """
    source = database_file(settings)
    if target.exists():
        raise CannotRun(f"{target} is there already: a backup never replaces a file")
    partial = target.with_name(f".{target.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(source, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", (str(partial),))
        problems = check_file(partial)
        if problems:
            raise CannotRun(f"the copy is not sound: {problems[0]}")
        manifest = _manifest(settings, partial)
        _sync(partial)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    side = target.with_name(f"{target.name}.json")
    side.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    side.chmod(0o600)
    _sync(side)
    _sync(target.parent)
    return manifest


def restore(settings: Settings, source: Path) -> Path | None:
    """Put a backup in place of the database; return where the old one went, if there was one.

    Raises:
        CannotRun: a service runs, the file is not sound or not ours, or its revision is unknown.
    """
    target = database_file(settings)
    if not source.is_file():
        raise CannotRun(f"there is no file {source}")
    data_dir.prepare(settings.data_dir)
    handle = data_dir.require_unused(settings.data_dir)
    try:
        _require_restorable(source)
        partial = target.with_name(".restore.part")
        shutil.copyfile(source, partial)
        partial.chmod(0o600)
        _sync(partial)
        old = _move_aside(target)
        partial.rename(target)
        _sync(target.parent)
        return old
    finally:
        os.close(handle)


def check_file(file: Path) -> list[str]:
    """List what is wrong with a database file: its pages, or rows that refer to nothing."""
    try:
        with closing(_open_read_only(file)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    problems = [] if found == ["ok"] else found
    return problems + [f"{row[0]}: row {row[1]} refers to nothing in {row[2]}" for row in orphans]


def database_file(settings: Settings) -> Path:
    """Return the SQLite file of the settings.

    Raises:
        CannotRun: the database is another one.
    """
    if not settings.is_sqlite:
        raise CannotRun("the database is PostgreSQL: use pg_dump and pg_restore")
    return Path(settings.effective_database_url.removeprefix("sqlite:///"))


def backup_before_upgrade(settings: Settings, revision: str) -> None:
    """Keep a copy of what the migrations will change, and the last few of these copies."""
    folder = settings.data_dir / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    backup(settings, folder / f"before-upgrade-{int(time.time())}-{revision}.db")
    for old in sorted(folder.glob("before-upgrade-*.db"))[:-_KEPT_BACKUPS]:
        old.unlink()
        old.with_name(f"{old.name}.json").unlink(missing_ok=True)


def checkpoint(settings: Settings) -> None:
    """Write the log back into the database and empty it; it grows while somebody always reads."""
    if settings.is_sqlite:
        with closing(sqlite3.connect(database_file(settings), timeout=1)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _require_restorable(source: Path) -> None:
    problems = check_file(source)
    if problems:
        raise CannotRun(f"{source} is not sound: {problems[0]}")
    revision = _revision(source)
    if not revision:
        raise CannotRun(f"{source} is not a database of this service")
    if not is_known(revision):
        raise CannotRun(f"{source} has revision {revision}, newer than this version: update first")
    side = source.with_name(f"{source.name}.json")
    if side.is_file() and orjson.loads(side.read_bytes()).get("sha256") != _sha256(source):
        raise CannotRun(f"{source} is not the file that {side.name} describes")


def _manifest(settings: Settings, copy: Path) -> dict[str, Any]:
    storage = settings.data_dir / "storage"
    stored = [file for file in storage.rglob("*") if file.is_file()] if storage.is_dir() else []
    return {
        "createdAt": iso_utc(utc_now()),
        "revision": _revision(copy),
        "neededRevision": needed_revision(),
        "sizeBytes": copy.stat().st_size,
        "sha256": _sha256(copy),
        "storage": {
            "folder": settings.storage_url or str(storage),
            "files": len(stored),
            "bytes": sum(file.stat().st_size for file in stored),
        },
    }


def _revision(file: Path) -> str:
    with closing(_open_read_only(file)) as connection:
        try:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError:
            return ""
    return str(row[0]) if row else ""


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


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
