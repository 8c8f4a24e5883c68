"""Backups of PostgreSQL, by its own programs."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy

from app.api_keys.service import any_key
from app.core.settings import Settings
from app.operations import first_start
from app.operations.backups import databases
from app.operations.backups import service as backups
from app.operations.failure import CannotRun
from app.wiring import build_runtime
from tests.conftest import POSTGRES_URL

needs_pg_dump = pytest.mark.skipif(shutil.which("pg_dump") is None, reason="there is no pg_dump")
AWAY = Settings(database_url="postgresql://cqe:hidden@127.0.0.1:1/cqe")


def test_without_pg_dump_a_backup_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRun, match="pg_dump is missing: install the client programs"):
        databases.copy(AWAY, tmp_path / "dump")


@needs_pg_dump
def test_a_database_that_is_away_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="pg_dump failed") as failed:
        databases.copy(AWAY, tmp_path / "dump")
    assert "hidden" not in str(failed.value)


@pytest.fixture
def empty_url() -> Iterator[str]:
    """The address of a database without tables."""
    url = sqlalchemy.make_url(POSTGRES_URL)
    name = f"cqe_{uuid.uuid4().hex}"
    admin = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield url.set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    admin.dispose()


@needs_pg_dump
@pytest.mark.postgresql_only("needs a PostgreSQL server")
def test_a_dump_is_restored_into_an_empty_database(
    make_settings: Callable[..., Settings], empty_url: str, tmp_path: Path
) -> None:
    settings = make_settings()
    first_start.prepare(settings, access_file=None)
    passphrase = "correct horse battery"
    made = backups.backup(settings, tmp_path / "backup", passphrase=passphrase)
    assert made.database_kind == "postgresql"
    with pytest.raises(CannotRun, match="not empty"):
        backups.restore(settings, tmp_path / "backup")
    new = Settings(data_dir=tmp_path / "new", database_url=empty_url, redis_url="none")
    backups.restore(new, tmp_path / "backup", passphrase=passphrase)
    runtime = build_runtime(new)
    with runtime.db.reading() as session:
        assert any_key(session)
    runtime.db.engine.dispose()
