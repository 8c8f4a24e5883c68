"""Backup and restore of a whole service."""

import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app import __version__
from app.analytics.engine import parts
from app.analytics.engine.database import fact_database, parts_folder
from app.core.clock import iso_utc, utc_now
from app.core.database import key_checks
from app.core.database.schema_revision import is_known, stored_revision
from app.core.database.session import Database
from app.core.secrets.encryption import KEY_FILE, Keyring, load_keyring, parse_keyring
from app.core.secrets.private_files import sync, write_private_file
from app.core.settings import Settings, SettingsError
from app.core.storage import deployment
from app.core.storage.files import require_space
from app.core.storage.opening import open_storage, storage_folder
from app.core.storage.untrusted import UntrustedFolder
from app.operations import data_dir, migrating, start_checks, stored_secrets
from app.operations.backups import contents, databases
from app.operations.backups.contents import Manifest
from app.operations.failure import CannotRun
from app.privacy import jobs as erasures
from app.privacy import records
from app.system import last_backup
from app.wiring import build_runtime

logger = logging.getLogger(__name__)

_ERASURES = "erasures"
_KEPT_BACKUPS = 5


@dataclass(frozen=True, slots=True)
class Restored:
    """Outcome of a restore.

    Attributes:
        old_database: the file of the replaced SQLite database.
        left_out: what somebody else has added to the database of the backup, such as triggers.
        revived: the API keys and people that were revoked or disabled in it, and work again.
    """

    manifest: Manifest
    old_database: Path | None
    left_out: list[str]
    revived: list[str]
    object_count: int
    erasure_count: int
    revision: str


@dataclass(frozen=True, slots=True)
class CheckedDatabase:
    """A copy of a SQLite database that is ready to be used, and what was left out of it."""

    file: Path
    left_out: list[str]


def backup(
    settings: Settings, target: Path, *, database_only: bool = False, passphrase: str = ""
) -> Manifest:
    """Write a backup into a new folder, while the service runs; the manifest comes last.

    Args:
        database_only: leave out recordings and exports.
        passphrase: put the master keys in, encrypted by it; without one they are left out.

    Raises:
        CannotRun: the folder exists, or the database cannot be copied.
        DiskFull: too little disk space is free.
    """
    if target.exists():
        raise CannotRun(f"{target} exists: name another folder, a backup never overwrites one")
    if not target.absolute().parent.is_dir():
        raise CannotRun(f"there is no folder {target.absolute().parent}: create it first")
    partial = target.with_name(f".{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    try:
        described = _write(settings, partial, database_only=database_only, passphrase=passphrase)
        sync(partial)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    sync(target.absolute().parent)
    if not database_only:
        size_bytes = described.database.size_bytes + described.object_bytes
        try:
            last_backup.note(settings.data_dir, target.absolute(), size_bytes)
        except OSError as error:
            # Where the disk of the data folder is full, the backup is needed all the more.
            logger.warning("the backup is complete, but `doctor` will not know of it: %s", error)
    return described


def restore(
    settings: Settings, source: Path, *, passphrase: str = "", later_erasures: Path | None = None
) -> Restored:
    """Put a backup in the place of the database, recordings and exports of a stopped service.

    The tables are upgraded, and what was erased since the backup is erased again.

    Args:
        passphrase: decrypts the master keys of the backup, which become those of the data folder.
        later_erasures: a copy of the records of erasures, newer than those of the backup.

    Raises:
        CannotRun: a service runs; the backup is not complete, is damaged or of a newer version; or
            a master key is missing.
        DiskFull: too little disk space is free.
    """
    described = contents.read_manifest(source)
    data_dir.prepare(settings.data_dir)
    with data_dir.unused(settings.data_dir):
        copies = [source / _ERASURES, *([later_erasures] if later_erasures else [])]
        _require_restorable(settings, source, described, copies)
        keys = contents.read_keys(source, passphrase) if passphrase else ""
        keyring = _require_keys(settings, described, keys)
        with _checked_database(settings, source, described, keyring) as checked:
            object_count = 0
            if described.objects is not None and (storage := storage_folder(settings)) is not None:
                object_count = contents.copy_in(source, described, storage, settings)
            # Before the database: a start after a kill erases again what they name.
            for folder in copies:
                records.add_copies(records.folder_of(settings), folder)
            old_database, left_out = _replace_database(settings, source, described, checked)
        if keys and not settings.master_keys and not (settings.data_dir / KEY_FILE).exists():
            write_private_file(settings.data_dir / KEY_FILE, f"{keys}\n")
        # These parts of analytics belong to the former database.
        shutil.rmtree(parts_folder(settings), ignore_errors=True)
        _, revision = migrating.upgrade(settings)
        revived = databases.revived(settings, old_database) if old_database else []
        erasure_count = repeat_erasures(settings)
        _discard_parts(settings)
    return Restored(
        described, old_database, left_out, revived, object_count, erasure_count, revision
    )


def backup_before_upgrade(settings: Settings, revision: str) -> None:
    """Back up the database before a migration, and delete all but the newest backups."""
    folder = settings.data_dir / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    for interrupted in folder.glob(".before-upgrade-*.part"):
        shutil.rmtree(interrupted)
    name = f"before-upgrade-{int(time.time())}-{revision}"
    backup(settings, folder / name, database_only=True)
    for outdated in sorted(folder.glob("before-upgrade-*/"))[:-_KEPT_BACKUPS]:
        shutil.rmtree(outdated)


def repeat_erasures(settings: Settings) -> int:
    """Erase again in a restored database what has a record; return the number of erasures."""
    runtime = build_runtime(settings)
    with runtime.db.reading() as session:
        start_checks.require_tables(session)
    deployment.adopt(runtime.db, runtime.storage)
    start_checks.require_usable(runtime)
    try:
        return erasures.repeat_erasures(runtime)
    finally:
        runtime.db.engine.dispose()


def _discard_parts(settings: Settings) -> None:
    """Discard the parts of analytics, a cache of which a backup has no files; the worker writes them."""
    runtime = build_runtime(settings)
    try:
        parts.discard_lost(runtime.db, fact_database(settings))
    finally:
        runtime.db.engine.dispose()


def _write(settings: Settings, folder: Path, *, database_only: bool, passphrase: str) -> Manifest:
    kind = _kind_of(settings)
    database = folder / contents.DATABASES[kind]
    keys = contents.write_keys(folder, _key_text(settings), passphrase) if passphrase else None
    databases.copy(settings, database)
    copied = replace(settings, database_url=f"sqlite:///{database}")
    revision, key_ids = _revision_and_keys(copied if settings.is_sqlite else settings)
    count, size_bytes = 0, 0
    storage = None if database_only else storage_folder(settings)
    if storage is not None:
        count, size_bytes = contents.copy_out(storage, folder, settings)
    records.add_copies(folder / _ERASURES, records.folder_of(settings))
    if settings.storage_url:
        records.copy_shared(folder / _ERASURES, open_storage(settings))
    described = Manifest(
        created_at=iso_utc(utc_now()),
        version=__version__,
        revision=revision,
        database_kind=kind,
        database=contents.describe(database),
        master_key_ids=key_ids,
        objects=contents.describe(folder / contents.OBJECT_LIST) if storage is not None else None,
        object_count=count,
        object_bytes=size_bytes,
        master_keys=contents.describe(keys) if keys else None,
    )
    described.write(folder)
    return described


def _revision_and_keys(settings: Settings) -> tuple[str, list[str]]:
    db = Database(settings, lambda _: None)
    try:
        with db.reading() as session:
            return stored_revision(session), sorted(key_checks.recorded_if_any(session))
    finally:
        db.engine.dispose()


def _key_text(settings: Settings) -> str:
    load_keyring(settings)
    return settings.master_keys or (settings.data_dir / KEY_FILE).read_text().strip()


@contextmanager
def _checked_database(
    settings: Settings, source: Path, described: Manifest, keyring: Keyring
) -> Iterator[CheckedDatabase | None]:
    """Provide a copy of the SQLite database that is upgraded and passes the checks of a start.

    PostgreSQL checks what it loads, into an empty database.
    """
    if not settings.is_sqlite:
        yield None
        return
    copy = settings.sqlite_file.with_name(".restore.part")
    _delete_copy(copy)
    try:
        database = described.database
        contents.copy_file(source, database.name, database.sha256, copy, settings)
        yield CheckedDatabase(copy, _check_and_upgrade(settings, copy, described, keyring))
    finally:
        _delete_copy(copy)


def _check_and_upgrade(
    settings: Settings, copy: Path, described: Manifest, keyring: Keyring
) -> list[str]:
    """Make a copy of the SQLite database usable; return what was left out of it."""
    copied = replace(settings, database_url=f"sqlite:///{copy}")
    try:
        left_out = databases.drop_foreign(copy)
        if problems := databases.check_file(copy):
            raise CannotRun(f"the database of the backup is damaged: {problems[0]}")
        if migrating.current(copied) != described.revision:
            raise CannotRun(
                f"the backup is damaged: its database is not at revision {described.revision}"
            )
        migrating.upgrade(copied)
        migrating.rebuild_search_index(copied)
        with Session(migrating.migration_engine(copied)) as session:
            start_checks.require_tables(session)
            stored_secrets.require_readable(session, keyring)
    except (SQLAlchemyError, sqlite3.Error) as error:
        reason = " ".join(str(error).split())
        raise CannotRun(f"the database of the backup is damaged: {reason}") from error
    return left_out


def _delete_copy(copy: Path) -> None:
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()


def _replace_database(
    settings: Settings, source: Path, described: Manifest, checked: CheckedDatabase | None
) -> tuple[Path | None, list[str]]:
    """Put the checked copy in place, or load the dump; return the former file and what is left out."""
    if checked is not None:
        return databases.put_in_place(settings, checked.file), checked.left_out
    with UntrustedFolder(source).open(source / described.database.name) as dump:
        return None, databases.load_dump(settings, dump)


def _kind_of(settings: Settings) -> str:
    return "sqlite" if settings.is_sqlite else "postgresql"


def _require_restorable(
    settings: Settings, source: Path, described: Manifest, erasures: Sequence[Path]
) -> None:
    kind = _kind_of(settings)
    if described.database_kind != kind:
        raise CannotRun(
            f"{source} is a backup of {described.database_kind}, but CQE_DATABASE_URL is {kind}"
        )
    if not is_known(described.revision):
        raise CannotRun(
            f"{source} has revision {described.revision}, which is newer than this version: "
            "update first"
        )
    contents.require_complete(source, described)
    try:
        for copies in erasures:
            records.require_readable(copies)
    except records.DamagedRecord as error:
        raise CannotRun(f"the backup is damaged: {error}") from error
    if settings.is_sqlite:
        require_space(settings.data_dir, described.database.size_bytes, settings.min_free_bytes)
    else:
        databases.require_empty(settings)


def _require_keys(settings: Settings, described: Manifest, keys: str) -> Keyring:
    """Return the master keys, which must include all of the backup."""
    try:
        keyring = load_keyring(settings)
    except SettingsError as error:
        if not keys:
            hint = "give --passphrase-file" if described.master_keys else "put master.keys back"
            raise CannotRun(f"{error}. To restore this backup, {hint} first") from error
        keyring = parse_keyring(keys)
    missing = [key_id for key_id in described.master_key_ids if not keyring.has(key_id)]
    if missing:
        raise CannotRun(
            f"this backup needs the master keys {', '.join(missing)}, but the data folder or "
            "CQE_MASTER_KEYS has others: add them"
        )
    return keyring
