"""Backup, restore and check of the SQLite database."""

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
    """Write a consistent copy, and a manifest `FILE.json` next to it; return the manifest.

    Raises:
        CannotRun: there is no database, the file exists, or the copy is damaged.
    """
    source = database_file(settings)
    if not source.is_file():
        raise CannotRun(f"there is no database {source} yet: start the service first")
    if target.exists():
        raise CannotRun(f"{target} exists: name another file, a backup never overwrites one")
    partial = target.with_name(f".{target.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(source, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", (str(partial),))
        problems = check_file(partial)
        if problems:
            raise CannotRun(f"the copy is damaged: {problems[0]}")
        manifest = _manifest(settings, partial)
        _sync(partial)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    manifest_file = target.with_name(f"{target.name}.json")
    manifest_file.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    manifest_file.chmod(0o600)
    _sync(manifest_file)
    _sync(target.parent)
    return manifest


def restore(settings: Settings, source: Path) -> Path | None:
    """Replace the database by a backup; return the file of the former database, if there was one.

    Raises:
        CannotRun: a service runs, or the file is damaged, of another program or of a newer version.
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


def database_file(settings: Settings) -> Path:
    """Return the SQLite file of the settings.

    Raises:
        CannotRun: the database is not SQLite.
    """
    if not settings.is_sqlite:
        raise CannotRun("the database is PostgreSQL: use pg_dump and pg_restore")
    return settings.sqlite_file


def backup_before_upgrade(settings: Settings, revision: str) -> None:
    """Back up the database before a migration, and delete all but the newest backups."""
    folder = settings.data_dir / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    backup(settings, folder / f"before-upgrade-{int(time.time())}-{revision}.db")
    for old in sorted(folder.glob("before-upgrade-*.db"))[:-_KEPT_BACKUPS]:
        old.unlink()
        old.with_name(f"{old.name}.json").unlink(missing_ok=True)


def checkpoint(settings: Settings) -> None:
    """Write the write-ahead log back into the database; it grows while there is always a reader."""
    if settings.is_sqlite:
        with closing(sqlite3.connect(database_file(settings), timeout=1)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _require_restorable(source: Path) -> None:
    problems = check_file(source)
    if problems:
        raise CannotRun(f"{source} is damaged: {problems[0]}")
    revision = _revision(source)
    if not revision:
        raise CannotRun(f"{source} is not a database of this service")
    if not is_known(revision):
        raise CannotRun(
            f"{source} has revision {revision}, which is newer than this version: update first"
        )
    manifest = source.with_name(f"{source.name}.json")
    if manifest.is_file() and orjson.loads(manifest.read_bytes()).get("sha256") != _sha256(source):
        raise CannotRun(f"{source} is not the file that {manifest.name} describes")


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
