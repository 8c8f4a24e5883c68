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


# What a restore must not bring along: it acts by itself, and CQE has no such thing.
FOREIGN = """
    CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER acting BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION act();
    CREATE VIEW seen AS SELECT * FROM users;
"""


@needs_pg_dump
@pytest.mark.postgresql_only("needs a PostgreSQL server")
def test_a_dump_is_restored_into_an_empty_database(
    make_settings: Callable[..., Settings], empty_url: str, tmp_path: Path
) -> None:
    settings = make_settings()
    first_start.prepare(settings, access_file=None)
    engine = sqlalchemy.create_engine(settings.effective_database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(FOREIGN)
    engine.dispose()
    passphrase = "correct horse battery"
    made = backups.backup(settings, tmp_path / "backup", passphrase=passphrase)
    assert made.database_kind == "postgresql"
    with pytest.raises(CannotRun, match="not empty"):
        backups.restore(settings, tmp_path / "backup")
    new = Settings(data_dir=tmp_path / "new", database_url=empty_url, redis_url="none")
    restored = backups.restore(new, tmp_path / "backup", passphrase=passphrase)
    left_out = sorted(entry.rpartition(" ")[0] for entry in restored.left_out)
    assert left_out == [
        "FUNCTION public act()",
        "TRIGGER public api_keys acting",
        "VIEW public seen",
    ]
    runtime = build_runtime(new)
    with runtime.db.reading() as session:
        assert any_key(session)
    runtime.db.engine.dispose()
