"""Backups that somebody else has changed: all is checked before a restore changes anything."""

import json
import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.core.ids import new_id
from app.core.settings import Settings
from app.operations import first_start
from app.operations.backups import contents
from app.operations.backups import service as backups
from app.operations.database_commands import db
from tests.walks.service_process import run_to_end

pytestmark = pytest.mark.sqlite_only("restores a SQLite file")
DATABASE, OBJECT, RECORD = "database.sqlite", "objects/01/00/aud_0001", "erasures/era.jsonl"
FILES = ("manifest.json", DATABASE, "objects.sha256", OBJECT, RECORD)


@pytest.fixture
def backup(data_dir: Path, tmp_path: Path) -> Path:
    """A backup with a stored object and a record of an erasure; the service has changed since."""
    settings = Settings(data_dir=data_dir)
    first_start.prepare(settings, access_file=data_dir / "access")
    stored = data_dir / "storage" / "01" / "00" / "aud_0001"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"sound")
    (data_dir / "erasures").mkdir()
    (data_dir / "erasures" / f"{new_id('era')}.jsonl").write_text(
        json.dumps({"at": "2026-11-22T00:00:00Z", "type": "audioFiles", "ids": ["aud_0002"]}) + "\n"
    )
    folder = tmp_path / "backup"
    backups.backup(settings, folder)
    stored.unlink()
    for record in (data_dir / "erasures").iterdir():
        record.unlink()
    return folder


def run(data_dir: Path, *arguments: str) -> Result:
    return CliRunner(env={"CQE_DATA_DIR": str(data_dir), "CQE_REDIS_URL": "none"}).invoke(
        db, arguments
    )


def state_of(data_dir: Path) -> dict[str, bytes]:
    """Return all files of a data folder but those of SQLite's write-ahead log and locks."""
    return {
        str(file.relative_to(data_dir)): file.read_bytes()
        for file in data_dir.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm", ".lock", "in-use"))
    }


def require_refused(data_dir: Path, backup: Path, told: str) -> None:
    before = state_of(data_dir)
    refused = run(data_dir, "restore", str(backup))
    assert refused.exit_code == 1, refused.output
    assert isinstance(refused.exception, SystemExit)
    assert told in refused.stderr
    assert state_of(data_dir) == before


def file_of(backup: Path, name: str) -> Path:
    return next((backup / "erasures").iterdir()) if name == RECORD else backup / name


def make_zero(file: Path) -> None:
    file.symlink_to("/dev/zero")


def make_link(file: Path) -> None:
    """Let a link lead to a file that has the right bytes."""
    target = file.parents[3] / "elsewhere"
    target.write_bytes(b"sound")
    file.symlink_to(target)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("make", [make_zero, os.mkfifo, make_link])
def test_only_regular_files_are_read(
    data_dir: Path, backup: Path, name: str, make: Callable[[Path], None]
) -> None:
    file = file_of(backup, name)
    file.unlink()
    make(file)
    require_refused(data_dir, backup, "it is ")


def test_an_object_behind_a_linked_folder_is_refused(data_dir: Path, backup: Path) -> None:
    (backup / "objects" / "01").rename(backup.parent / "elsewhere")
    (backup / "objects" / "01").symlink_to(backup.parent / "elsewhere")
    require_refused(data_dir, backup, "aud_0001: it is a symbolic link, or behind one")


@pytest.mark.parametrize(
    "change",
    [
        {"database": {"name": "../instance/cqe.db", "size_bytes": 1, "sha256": "0" * 64}},
        {"objects": {"name": "/etc/passwd", "size_bytes": 1, "sha256": "0" * 64}},
        {"master_keys": {"name": "manifest.json", "size_bytes": 1, "sha256": "0" * 64}},
        {"object_count": "many"},
        {"created_at": 7},
        {"master_key_ids": "k1"},
        {"database": None},
        {"format": "1"},
        {"more": 1},
    ],
)
def test_an_odd_manifest_is_refused(data_dir: Path, backup: Path, change: dict[str, Any]) -> None:
    manifest = backup / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **change}))
    told = "made by a newer version" if "format" in change else "manifest.json is damaged"
    require_refused(data_dir, backup, told)


@pytest.mark.parametrize("text", ["[]", "7", "{" * 100_000, "", "\ufeff{}"])
def test_a_manifest_of_another_form_is_refused(data_dir: Path, backup: Path, text: str) -> None:
    (backup / "manifest.json").write_text(text)
    require_refused(data_dir, backup, "manifest.json is damaged")


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "null",
        "{}",
        '{"type": "conversations"}',
        '{"type": "people", "ids": ["usr_1"]}',
        '{"type": "audioFiles", "ids": "aud_1"}',
        '{"type": "audioFiles", "ids": [1]}',
        '{"type": "audioFiles", "ids": ["aud_1\\u0000"]}',
        json.dumps({"type": "audioFiles", "ids": ["aud_1"] * 5001}),
    ],
)
def test_an_odd_record_of_an_erasure_is_refused_and_stops_no_start(
    data_dir: Path, backup: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    record = file_of(backup, RECORD)
    record.write_text(record.read_text() + line + "\n")
    require_refused(data_dir, backup, f"the record of erasures {record.name} is damaged")
    later = run(data_dir, "restore", str(backup), "--erasures", str(backup / "erasures"))
    assert "is damaged" in later.stderr
    (data_dir / "erasures" / record.name).write_text(line + "\n" + record.read_text())
    with caplog.at_level(logging.ERROR):
        first_start.prepare(Settings(data_dir=data_dir), access_file=None)
    assert "is not erased again" in caplog.text


def change_database(backup: Path, *statements: str) -> None:
    """Change the database of a backup, and describe it in the manifest as it is now."""
    file = backup / DATABASE
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    replace(contents.read_manifest(backup), database=contents.describe(file)).write(backup)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DROP TABLE saved_views", "the table saved_views is missing"),
        ("ALTER TABLE campaigns RENAME COLUMN name TO title", "campaigns has no column name"),
        ("DROP TABLE alembic_version", "is not at revision"),
        ("UPDATE alembic_version SET version_num = '0001'", "is not at revision"),
        ("UPDATE master_key_checks SET value = 'é'", "is not the one that encrypted"),
    ],
)
def test_a_database_of_another_form_is_refused(
    data_dir: Path, backup: Path, statement: str, told: str
) -> None:
    change_database(backup, statement)
    require_refused(data_dir, backup, told)


def test_bytes_that_are_no_database_are_refused(data_dir: Path, backup: Path) -> None:
    (backup / DATABASE).write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    change_database(backup)
    require_refused(data_dir, backup, "the database of the backup is damaged")


def test_a_damaged_secret_is_refused(data_dir: Path, backup: Path) -> None:
    change_database(
        backup,
        "DELETE FROM master_key_checks",
        "UPDATE api_key_credentials SET secret_sealed = 'odd'",
    )
    require_refused(data_dir, backup, "a stored secret is damaged")


def test_an_unchanged_backup_is_restored_by_a_process_of_its_own(
    data_dir: Path, backup: Path
) -> None:
    code, text = run_to_end(data_dir, "db", "restore", str(backup))
    assert code == 0, text
    assert "Restored the backup" in text


def test_what_acts_by_itself_is_left_out(data_dir: Path, backup: Path) -> None:
    change_database(
        backup,
        'CREATE TRIGGER "more\ntrigger" AFTER INSERT ON users BEGIN DELETE FROM api_keys; END',
        "CREATE VIEW seen AS SELECT * FROM users",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
    )
    restored = run(data_dir, "restore", str(backup))
    assert restored.exit_code == 0, restored.output
    told = "Left out, because CQE has not made them: trigger 'more\\ntrigger', view 'seen', table 'words'."
    assert told in restored.output
    with closing(sqlite3.connect(data_dir / "cqe.db")) as connection:
        kinds = connection.execute("SELECT DISTINCT type FROM sqlite_master").fetchall()
        assert sorted(kinds) == [("index",), ("table",)]
    assert run(data_dir, "check").exit_code == 0
    assert (data_dir / "storage" / "01" / "00" / "aud_0001").read_bytes() == b"sound"
    assert [file.name for file in data_dir.glob(".restore*")] == []
