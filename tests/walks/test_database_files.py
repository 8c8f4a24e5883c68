"""Migrations and backups on real files, with others writing meanwhile."""

import itertools
import multiprocessing
import os
import re
import signal
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.core.database.schema_revision import needed_revision
from app.core.errors import DiskFull, ServiceUnavailable
from app.core.settings import Settings
from app.operations import data_dir, first_start, migrating
from app.operations.backups import contents, databases
from app.operations.backups import service as backups
from app.operations.database_commands import db
from app.operations.failure import CannotRun, text_of
from app.system import last_backup
from tests.conftest import make_data_dir
from tests.forked import ForkedProcess


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file whose tables the migrations have made."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("migrated"))
    migrating.upgrade(settings)
    return settings.sqlite_file


@pytest.fixture
def settings(tmp_path: Path, migrated: Path) -> Settings:
    """Settings of a fresh folder with the tables of this version."""
    return Settings(data_dir=make_data_dir(tmp_path, migrated))


def execute(file: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file, timeout=10, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def test_starts_at_the_same_moment_migrate_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "instance")
    context = multiprocessing.get_context("spawn")
    starts = [context.Process(target=migrating.upgrade, args=(settings,)) for _ in range(3)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert [start.exitcode for start in starts] == [0, 0, 0]
    assert migrating.current(settings) == needed_revision()


def test_a_newer_database_is_left_alone(settings: Settings) -> None:
    file = settings.sqlite_file
    execute(file, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    assert migrating.upgrade(settings) == ("ffffffffffff", "ffffffffffff")
    execute(file, "UPDATE schema_state SET oldest_code = 'ffffffffffff'")
    with pytest.raises(CannotRun, match="does not know"):
        migrating.upgrade(settings)


def test_a_backup_under_load_is_whole_private_and_described(
    settings: Settings, tmp_path: Path
) -> None:
    file = settings.sqlite_file
    execute(file, "CREATE TABLE pair (one INTEGER, two INTEGER)")
    ended = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(file, timeout=10, isolation_level=None)) as connection:
            number = 0
            while not ended.is_set():
                number += 1
                connection.execute("INSERT INTO pair VALUES (?, ?)", (number, number))

    writer = threading.Thread(target=write)
    writer.start()
    folder = tmp_path / "copy"
    try:
        made = backups.backup(settings, folder)
    finally:
        ended.set()
        writer.join()
    database = folder / "database.sqlite"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert databases.check_file(database) == []
    assert made.revision == needed_revision()
    assert contents.read_manifest(folder) == made
    assert execute(database, "SELECT count(*) FROM pair WHERE one <> two") == [(0,)]
    noted = last_backup.find(settings.data_dir)
    assert noted is not None
    assert noted.folder == str(folder)


def test_a_backup_is_complete_where_its_note_cannot_be_written(
    settings: Settings, tmp_path: Path
) -> None:
    (settings.data_dir / "last-backup.json").mkdir()
    made = backups.backup(settings, tmp_path / "copy")
    assert contents.read_manifest(tmp_path / "copy") == made


def test_a_backup_never_replaces_a_folder(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    with pytest.raises(CannotRun, match="never overwrites"):
        backups.backup(settings, folder)
    assert list(folder.iterdir()) == []


def test_a_backup_of_a_damaged_database_says_so_and_leaves_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    os.truncate(settings.sqlite_file, settings.sqlite_file.stat().st_size // 2)
    with pytest.raises(sqlite3.DatabaseError) as raised:
        backups.backup(settings, tmp_path / "copy")
    assert "the database is damaged: database disk image is malformed" in text_of(raised.value)
    assert not (tmp_path / "copy").exists()


def test_a_backup_that_does_not_fit_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(DiskFull):
        backups.backup(replace(settings, min_free_gb=1e6), tmp_path / "copy")
    assert [file.name for file in tmp_path.iterdir()] == ["instance"]


def test_a_restore_brings_back_what_was_and_keeps_what_is(
    settings: Settings, tmp_path: Path
) -> None:
    file = settings.sqlite_file
    execute(file, "CREATE TABLE note (text TEXT)")
    execute(file, "INSERT INTO note VALUES ('before')")
    backups.backup(settings, tmp_path / "copy")
    execute(file, "UPDATE note SET text = 'after'")
    done = backups.restore(settings, tmp_path / "copy")
    assert execute(file, "SELECT text FROM note") == [("before",)]
    assert done.old_database is not None
    assert execute(done.old_database, "SELECT text FROM note") == [("after",)]


def restore_and_die(settings: Settings, copy: Path, moment: int) -> None:
    """Restore, and be killed at this change of the names of the database's files."""
    changes = itertools.count(1)

    def die(event: str, arguments: tuple[object, ...]) -> None:
        names = [Path(str(argument)).name for argument in arguments[:2]]
        is_change = event in ("os.link", "os.rename", "os.remove") and any(
            name.startswith("cqe.db") for name in names
        )
        if is_change and next(changes) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(die)
    backups.restore(settings, copy)


def test_a_restore_that_is_killed_leaves_one_of_both_databases(
    settings: Settings, tmp_path: Path
) -> None:
    file, copy = settings.sqlite_file, tmp_path / "copy"
    backups.backup(settings, copy)
    execute(file, "CREATE TABLE later (one INTEGER)")
    killed = 0
    for moment in itertools.count(1):
        arguments = (settings, copy, moment)
        output = tmp_path / "output"
        ended = ForkedProcess(restore_and_die, *arguments, environment={}, output=output).wait()
        assert databases.check_file(file) == []
        assert execute(file, "SELECT count(*) FROM saved_views") == [(0,)]
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, output.read_text()
        killed += 1
    assert killed >= 2
    assert execute(file, "SELECT name FROM sqlite_master WHERE name = 'later'") == []


def test_a_damaged_database_is_reported_and_replaced(settings: Settings, tmp_path: Path) -> None:
    backups.backup(settings, tmp_path / "copy")
    settings.sqlite_file.write_bytes(b"this is no database " * 500)
    with pytest.raises(ServiceUnavailable) as refused:
        first_start.prepare(settings, access_file=None)
    told = "the database is damaged: file is not a database. Restore a backup (docs/backup.md)"
    assert text_of(refused.value) == told
    done = backups.restore(settings, tmp_path / "copy")
    assert databases.check_file(settings.sqlite_file) == []
    assert done.old_database is not None
    assert done.old_database.read_bytes().startswith(b"this is no database")


def test_a_folder_in_use_is_not_restored(settings: Settings, tmp_path: Path) -> None:
    backups.backup(settings, tmp_path / "copy")
    data_dir.lock_shared(settings.data_dir)
    with pytest.raises(CannotRun, match="stop it first"):
        backups.restore(settings, tmp_path / "copy")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("no manifest", "not a complete backup"),
        ("torn manifest", "manifest.json is damaged"),
        ("newer", "newer than this version"),
        ("changed database", "database.sqlite has changed"),
        ("lost object", "aud_0001 is missing"),
        ("changed object", "aud_0001 has changed"),
        ("foreign path", "names 'objects/../../master.keys'"),
    ],
)
def test_what_is_not_complete_is_not_restored(
    settings: Settings, tmp_path: Path, damage: str, told: str
) -> None:
    stored = settings.data_dir / "storage" / "01" / "00" / "aud_0001"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"sound")
    folder = tmp_path / "copy"
    backups.backup(settings, folder)
    described, copy = folder / "manifest.json", folder / "objects" / "01" / "00" / "aud_0001"
    assert copy.read_bytes() == b"sound"
    if damage == "no manifest":
        described.unlink()
    elif damage == "torn manifest":
        described.write_bytes(described.read_bytes()[:-30])
    elif damage == "newer":
        described.write_text(described.read_text().replace(needed_revision(), "ffff"))
    elif damage == "changed database":
        execute(folder / "database.sqlite", "CREATE TABLE more (one INTEGER)")
    elif damage == "lost object":
        copy.unlink()
    elif damage == "changed object":
        copy.write_bytes(b"noise")
    else:
        listed = folder / "objects.sha256"
        listed.write_text(f"{'0' * 64}  objects/../../master.keys\n")
        changed = contents.describe(listed)
        replace(contents.read_manifest(folder), objects=changed).write(folder)
    before = settings.sqlite_file.read_bytes()
    with pytest.raises(CannotRun, match=re.escape(told)):
        backups.restore(settings, folder)
    assert settings.sqlite_file.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP TABLE saved_views", "the table saved_views is missing"),
        ("ALTER TABLE campaigns RENAME COLUMN name TO title", "campaigns has no column name"),
        ("DROP INDEX ix_erasures_due", "the index ix_erasures_due of erasures is missing"),
    ],
)
def test_tables_of_another_shape_are_told(settings: Settings, change: str, told: str) -> None:
    execute(settings.sqlite_file, change)
    checked = CliRunner(env={"CQE_DATA_DIR": str(settings.data_dir)}).invoke(db, ["check"])
    assert checked.exit_code == 1
    assert told in checked.stderr
    with pytest.raises(CannotRun, match=told):
        first_start.prepare(settings, access_file=None)


def test_columns_and_tables_of_others_are_ignored(settings: Settings) -> None:
    execute(settings.sqlite_file, "ALTER TABLE campaigns ADD COLUMN note TEXT")
    execute(settings.sqlite_file, "CREATE TABLE notes (text TEXT NOT NULL)")
    checked = CliRunner(env={"CQE_DATA_DIR": str(settings.data_dir)}).invoke(db, ["check"])
    assert checked.output == f"Intact, at revision {needed_revision()}.\n"
