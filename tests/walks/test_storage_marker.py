"""Storages that are not those of the database: what starts, what is refused, what is said."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import update

from app.core.settings import Settings
from app.core.storage.deployment import Deployment, recorded
from app.core.storage.objects import MARKER, ForeignStorage
from app.operations import first_start
from app.operations.backups import service as backups
from app.wiring import build_runtime
from tests.waiting import PATIENCE_S
from tests.walks.service_process import ServiceProcess

WEB = [sys.executable, "-c", "import wsgi"]


def deployment_of(settings: Settings) -> str:
    runtime = build_runtime(settings)
    with runtime.db.reading() as session:
        row = recorded(session)
    runtime.db.engine.dispose()
    assert row is not None
    assert row.marked_at is not None
    return row.id


@pytest.fixture
def settings(make_settings: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Settings of a deployment that has been started once."""
    settings = make_settings(storage_url=f"file://{tmp_path / 'shared'}")
    first_start.prepare(settings, access_file=None)
    return settings


def test_a_start_marks_the_storage_once(settings: Settings, tmp_path: Path) -> None:
    marker = tmp_path / "shared" / MARKER
    assert marker.read_text().strip() == deployment_of(settings)
    first_start.prepare(settings, access_file=None)
    assert marker.read_text().strip() == deployment_of(settings)


def test_a_start_that_was_killed_before_it_marked_the_storage_is_repeated(
    settings: Settings, tmp_path: Path
) -> None:
    runtime = build_runtime(settings)
    with runtime.db.writing() as session:
        session.execute(update(Deployment).values(marked_at=None))
    first_start.prepare(settings, access_file=None)
    assert deployment_of(settings) == (tmp_path / "shared" / MARKER).read_text().strip()
    with runtime.db.writing() as session:
        session.execute(update(Deployment).values(marked_at=None))
    (tmp_path / "shared" / MARKER).unlink()
    first_start.prepare(settings, access_file=None)
    assert deployment_of(settings) == (tmp_path / "shared" / MARKER).read_text().strip()
    runtime.db.engine.dispose()


@pytest.mark.parametrize("program", [WEB, None], ids=["web", "worker"])
def test_a_process_with_a_folder_of_its_own_does_not_start(
    settings: Settings, tmp_path: Path, program: list[str] | None
) -> None:
    variables: dict[str, Any] = {
        "CQE_REDIS_URL": "none",
        "CQE_DATABASE_URL": settings.database_url,
        "CQE_STORAGE_URL": f"file://{tmp_path / 'other'}",
    }
    started = ServiceProcess(settings.data_dir, "worker", command=program, **variables)
    assert started.process.wait(timeout=PATIENCE_S) == 1
    assert "the storage of recordings has no marker" in started.text
    assert deployment_of(settings) in started.text


def test_the_storage_of_another_deployment_is_refused(
    settings: Settings, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    with pytest.raises(ForeignStorage, match="has no marker"):
        first_start.prepare(make_settings(storage_url=""), access_file=None)
    marker = tmp_path / "shared" / MARKER
    marker.write_text("dep_of_another\n")
    with pytest.raises(ForeignStorage, match="the marker dep_of_another of another deployment"):
        first_start.prepare(settings, access_file=None)
    assert marker.read_text() == "dep_of_another\n"
    settings.sqlite_file.unlink()
    with pytest.raises(
        ForeignStorage, match=r"database is new.* dep_of_another .*restore a backup"
    ):
        first_start.prepare(settings, access_file=None)


def test_health_tells_of_a_storage_that_was_exchanged(
    settings: Settings, serve: Callable[..., str], tmp_path: Path
) -> None:
    base = serve(storage_url=settings.storage_url)
    checks = requests.get(f"{base}/health").json()["checks"]
    assert checks["storage"] == "ok"
    (tmp_path / "shared" / MARKER).rename(tmp_path / "away")
    base = serve(storage_url=settings.storage_url)
    checks = requests.get(f"{base}/health").json()["checks"]
    assert checks["storage"] == "failing"


@pytest.mark.sqlite_only("restores a SQLite file")
def test_a_restored_database_takes_the_storage_of_its_settings(
    settings: Settings, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "backup", database_only=True)
    shared = deployment_of(settings)
    backups.restore(settings, tmp_path / "backup")
    first_start.prepare(settings, access_file=None)
    assert deployment_of(settings) == shared
    moved = make_settings(storage_url=f"file://{tmp_path / 'moved'}")
    backups.restore(moved, tmp_path / "backup")
    first_start.prepare(moved, access_file=None)
    assert deployment_of(moved) == (tmp_path / "moved" / MARKER).read_text().strip() != shared
