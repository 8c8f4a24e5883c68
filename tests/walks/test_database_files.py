"""Migrations and backups on real files, with others writing meanwhile."""

import json
import multiprocessing
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.core.database.schema_revision import needed_revision
from app.core.settings import Settings
from app.operations import data_dir, database_files, first_start, migrating
from app.operations.commands import db
from app.operations.failure import CannotRun


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a fresh folder with the tables of this version."""
    made = Settings(data_dir=tmp_path / "instance")
    migrating.upgrade(made)
    return made


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
    file = database_files.database_file(settings)
    execute(file, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    with pytest.raises(CannotRun, match="does not know"):
        migrating.upgrade(settings)


def test_a_backup_under_load_is_whole_private_and_described(
    settings: Settings, tmp_path: Path
) -> None:
    file = database_files.database_file(settings)
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
    target = tmp_path / "copy.db"
    try:
        made = database_files.backup(settings, target)
    finally:
        ended.set()
        writer.join()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert database_files.check_file(target) == []
    assert made["revision"] == needed_revision()
    assert json.loads((tmp_path / "copy.db.json").read_bytes()) == made
    assert execute(target, "SELECT count(*) FROM pair WHERE one <> two") == [(0,)]


def test_a_backup_never_replaces_a_file(settings: Settings, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with pytest.raises(CannotRun, match="never overwrites"):
        database_files.backup(settings, target)
    assert target.read_text() == "mine"


def test_a_restore_brings_back_what_was_and_keeps_what_is(
    settings: Settings, tmp_path: Path
) -> None:
    file = database_files.database_file(settings)
    execute(file, "CREATE TABLE note (text TEXT)")
    execute(file, "INSERT INTO note VALUES ('before')")
    database_files.backup(settings, tmp_path / "copy.db")
    execute(file, "UPDATE note SET text = 'after'")
    old = database_files.restore(settings, tmp_path / "copy.db")
    assert execute(file, "SELECT text FROM note") == [("before",)]
    assert old is not None
    assert execute(old, "SELECT text FROM note") == [("after",)]


def test_a_restore_waits_for_nobody(settings: Settings, tmp_path: Path) -> None:
    database_files.backup(settings, tmp_path / "copy.db")
    data_dir.lock_shared(settings.data_dir)
    with pytest.raises(CannotRun, match="stop it first"):
        database_files.restore(settings, tmp_path / "copy.db")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE alembic_version SET version_num = 'ffffffffffff'", "newer than this version"),
        ("DROP TABLE alembic_version", "not a database of this service"),
        ("CREATE TABLE more (one INTEGER)", "not the file that copy.db.json describes"),
    ],
)
def test_a_file_that_is_not_ours_is_not_restored(
    settings: Settings, tmp_path: Path, damage: str, told: str
) -> None:
    database_files.backup(settings, tmp_path / "copy.db")
    execute(tmp_path / "copy.db", damage)
    with pytest.raises(CannotRun, match=told):
        database_files.restore(settings, tmp_path / "copy.db")


def test_a_torn_file_is_not_restored(settings: Settings, tmp_path: Path) -> None:
    torn = tmp_path / "torn.db"
    database_files.backup(settings, torn)
    torn.write_bytes(torn.read_bytes()[:-5000])
    with pytest.raises(CannotRun, match="damaged"):
        database_files.restore(settings, torn)


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
