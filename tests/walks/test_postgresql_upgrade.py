"""Upgrades of a PostgreSQL database that is in use."""

import threading
from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, create_engine, inspect, text

from app.core.database.session import Table
from app.core.settings import Settings
from app.operations import migrating
from migrations.indexes import create_index
from tests.conftest import POSTGRES_URL, new_database
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not POSTGRES_URL, reason="CQE_TEST_POSTGRES_URL is not set")


@pytest.fixture(scope="module")
def empty_url() -> Iterator[str]:
    admin = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    with new_database(admin) as name:
        yield admin.url.set(database=name).render_as_string(hide_password=False)
    admin.dispose()


@pytest.fixture(scope="module")
def settings(empty_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a database that every migration has made."""
    made = Settings(data_dir=tmp_path_factory.mktemp("data"), database_url=empty_url)
    migrating.upgrade(made)
    return made


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    made = create_engine(settings.database_url)
    yield made
    made.dispose()


def test_migrations_create_the_tables_of_the_models(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []


def test_an_upgrade_waits_in_vain_for_a_table_and_tries_again(
    settings: Settings, engine: Engine
) -> None:
    """As of the revision before `imports` got two columns."""
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE schema_state"))
        connection.execute(text("ALTER TABLE imports DROP COLUMN file_id, DROP COLUMN file_name"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0016'"))
    upgrade = threading.Thread(target=migrating.upgrade, args=(settings,))
    with engine.begin() as reader:
        reader.execute(text("SELECT count(*) FROM imports"))
        upgrade.start()
        waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'relation'")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            wait_until(lambda: other.scalar(waiting) == 1)
            # Whoever reads now waits behind the upgrade, until it gives its place up.
            assert other.scalar(text("SELECT count(*) FROM imports")) == 0
        assert upgrade.is_alive()
    upgrade.join()
    assert migrating.upgrade(settings) == (migrating.current(settings),) * 2


def test_an_index_is_built_while_others_write(engine: Engine) -> None:
    with engine.begin() as writer, engine.connect() as connection:
        writer.execute(text("UPDATE imports SET received = 0"))
        builder = threading.Thread(target=build_index, args=(connection,))
        builder.start()
        building = text("SELECT count(*) FROM pg_stat_progress_create_index")
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
            wait_until(lambda: other.scalar(building) == 1)
            other.execute(text("UPDATE imports SET received = 0"))
        assert builder.is_alive()
        writer.commit()
        builder.join()
    names = [index["name"] for index in inspect(engine).get_indexes("imports")]
    assert "ix_imports_received" in names


def build_index(connection) -> None:
    context = MigrationContext.configure(connection)
    with Operations.context(context), context.begin_transaction(_per_migration=True):
        create_index("ix_imports_received", "imports", ["received"])
