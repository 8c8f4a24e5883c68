"""Doctor and backups on what is broken: they say it and never end in a traceback."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.core.secrets.encryption import new_master_key
from app.operations.commands import doctor
from app.operations.database_commands import db
from tests.caller import Caller
from tests.running import running_runtime
from tests.waiting import PATIENCE_S
from tests.walks.service_process import environment, free_port, run_to_end

GARBAGE = b"this is no database " * 500


def run(command: object, data_dir: Path, *arguments: str) -> Result:
    variables = {"CQE_DATA_DIR": str(data_dir), "CQE_REDIS_URL": "redis://127.0.0.1:1/0"}
    told = CliRunner(env=variables).invoke(command, arguments)  # type: ignore[arg-type]
    assert isinstance(told.exception, SystemExit | None)
    return told


@pytest.mark.parametrize("content", [GARBAGE, b""])
def test_doctor_tells_of_a_broken_database_and_a_silent_queue(
    data_dir: Path, content: bytes
) -> None:
    (data_dir / "cqe.db").write_bytes(content)
    told = run(doctor, data_dir)
    assert told.exit_code == 1
    lines = {line[6:18].strip(): line for line in told.stdout.splitlines()}
    assert lines["database"].startswith("fail")
    assert "run `./run db " in lines["database"]
    assert lines["queue"].startswith("warn")
    assert "Connection refused" in lines["queue"]
    assert lines["versions"].startswith("ok")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"k1:short", b""])
def test_doctor_tells_of_a_damaged_key_file(data_dir: Path, content: bytes) -> None:
    file = data_dir / "master.keys"
    file.write_bytes(content)
    told = run(doctor, data_dir)
    assert told.exit_code == 1
    assert f"{file}" in told.stdout
    assert "put a copy" in told.stdout


@pytest.mark.sqlite_only("damages the file")
def test_doctor_says_what_a_start_says_of_a_damaged_file(data_dir: Path) -> None:
    (data_dir / "cqe.db").write_bytes(GARBAGE)
    assert of_start(data_dir) == told_by_up(data_dir)
    assert "the database is damaged" in of_start(data_dir)


@pytest.mark.sqlite_only("has its keys in the folder")
def test_doctor_says_what_a_start_says_of_lost_keys(client: Caller, data_dir: Path) -> None:
    assert client.get("/api-keys").status_code == 200
    assert of_start(data_dir) == "nothing is in its way"
    (data_dir / "master.keys").unlink()
    assert of_start(data_dir) == told_by_up(data_dir)
    assert "but the database has secrets of the master keys" in of_start(data_dir)
    (data_dir / "master.keys").write_text(f"{new_master_key()}\n")
    (data_dir / "master.keys").chmod(0o600)
    assert of_start(data_dir) == told_by_up(data_dir)
    assert "stored secrets need the master keys" in of_start(data_dir)


def of_start(data_dir: Path) -> str:
    """Lines of doctor about a start."""
    [line] = [line for line in run(doctor, data_dir).stdout.splitlines() if "  start  " in line]
    return line[20:]


def told_by_up(data_dir: Path) -> str:
    told = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "up"],
        env=environment(data_dir, CQE_PORT=str(free_port()), CQE_REDIS_URL="none"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert told.returncode == 1
    [line] = [line for line in told.stderr.splitlines() if line.startswith("cqe: ")]
    return line.removeprefix("cqe: ")


def test_doctor_tells_of_a_mistyped_setting(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CQE_PROT", "8000")
    told = run(doctor, data_dir)
    assert "warn  settings      CQE_PROT is not a setting: did you mean CQE_PORT?" in told.stdout


def test_doctor_makes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "instance"
    folder.mkdir(mode=0o700)
    assert "not created yet" in run(doctor, folder).stdout
    assert list(folder.iterdir()) == []


@pytest.mark.sqlite_only("damages the file")
def test_a_service_says_that_its_database_is_damaged(client: Caller) -> None:
    runtime = running_runtime()
    runtime.db.engine.dispose()
    runtime.settings.sqlite_file.write_bytes(GARBAGE)
    answer = client.plain("GET", "/health")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize("damage", ["garbage", "missing", "no folder"])
def test_a_backup_that_cannot_be_made_says_why(data_dir: Path, damage: str) -> None:
    target = data_dir.parent / "copy"
    if damage == "garbage":
        (data_dir / "cqe.db").write_bytes(GARBAGE)
    elif damage == "missing":
        (data_dir / "cqe.db").unlink()
    else:
        target = data_dir.parent / "absent" / "copy"
    told = run(db, data_dir, "backup", str(target))
    assert told.exit_code == 1
    assert told.stderr.startswith("cqe: ")
    assert len(told.stderr.splitlines()) == 1
    assert not target.exists()


@pytest.mark.sqlite_only("damages the file")
@pytest.mark.parametrize("command", ["keys list", "demo"])
def test_a_command_on_a_damaged_database_says_what_to_do(data_dir: Path, command: str) -> None:
    (data_dir / "cqe.db").write_bytes(GARBAGE)
    code, text = run_to_end(data_dir, *command.split())
    assert code == 1
    lines = [line for line in text.splitlines() if not line.startswith("{")]
    damage = "the database is damaged: file is not a database. Restore a backup (docs/backup.md)"
    assert lines == [f"cqe: {damage}"]


def test_a_full_disk_ends_a_backup_with_a_sentence(data_dir: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "db", "backup", "copy"],
        env=environment(data_dir),
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert told.returncode == 1
    assert told.stderr.startswith("cqe: ")
    assert len(told.stderr.splitlines()) == 1
    assert not (data_dir.parent / "copy").exists()
