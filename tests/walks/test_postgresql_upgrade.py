"""Upgrades of a PostgreSQL database that is in use."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from app.core.database.schema_revision import needed_revision
from app.core.database.session import Table
from app.core.settings import Settings
from app.evaluations.models import SEARCH_INDEX
from app.operations import migrating
from migrations.indexes import create_index
from tests.conftest import POSTGRES_URL, new_database
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.postgresql_only("needs a PostgreSQL server")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of an empty database."""
    admin = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    with new_database(admin) as name:
        url = admin.url.set(database=name).render_as_string(hide_password=False)
        yield Settings(data_dir=tmp_path, database_url=url)
    admin.dispose()


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    made = create_engine(settings.database_url)
    yield made
    made.dispose()


def is_of_models(_: object, name: str | None, *__: object) -> bool:
    return not (name or "").startswith(SEARCH_INDEX)


def test_migrations_create_the_tables_of_the_models(settings: Settings, engine: Engine) -> None:
    migrating.upgrade(settings)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_object": is_of_models}
        )
        assert compare_metadata(context, Table.metadata) == []


def test_an_upgrade_waits_in_vain_for_a_table_and_tries_again(
    settings: Settings, engine: Engine
) -> None:
    before_columns_of_imports = Config()
    before_columns_of_imports.set_main_option("script_location", str(ROOT / "migrations"))
    with migrating.migration_engine(settings).begin() as connection:
        before_columns_of_imports.attributes["connection"] = connection
        command.upgrade(before_columns_of_imports, "0016")
    upgrade = threading.Thread(target=migrating.upgrade, args=(settings,))
    with engine.begin() as reader:
        reader.execute(text("SELECT count(*) FROM imports"))
        upgrade.start()
        waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'relation'")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            wait_until(lambda: other.scalar(waiting) == 1)
            # A reader that comes now waits behind the upgrade, until that gives up its place.
            assert other.scalar(text("SELECT count(*) FROM imports")) == 0
        assert upgrade.is_alive()
    upgrade.join()
    assert migrating.current(settings) == needed_revision()


def test_an_index_is_built_while_others_write(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE readings (value INTEGER)"))
    with engine.begin() as writer, engine.connect() as connection:
        writer.execute(text("INSERT INTO readings VALUES (1)"))
        builder = threading.Thread(target=build_index, args=(connection,))
        builder.start()
        building = text("SELECT count(*) FROM pg_stat_progress_create_index")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            wait_until(lambda: other.scalar(building) == 1)
            other.execute(text("INSERT INTO readings VALUES (2)"))
        assert builder.is_alive()
        writer.commit()
        builder.join()
    names = [index["name"] for index in inspect(engine).get_indexes("readings")]
    assert "ix_readings_value" in names


def build_index(connection: Connection) -> None:
    context = MigrationContext.configure(connection)
    with Operations.context(context), context.begin_transaction(_per_migration=True):
        create_index("ix_readings_value", "readings", ["value"])
