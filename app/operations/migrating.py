"""Migration of the tables to the revision that this version needs; one process at a time."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, text

from app.core.database.engine import postgresql_parameters
from app.core.database.schema_revision import is_known, needed_revision, stored_revision
from app.core.settings import Settings
from app.operations.failure import CannotRun

logger = logging.getLogger(__name__)

_POSTGRESQL_LOCK = 7_365_210_415


def upgrade(settings: Settings) -> tuple[str, str]:
    """Run the missing migrations in one transaction; return the revisions before and after.

    Raises:
        CannotRun: the tables are of a newer version.
    """
    with _file_lock(settings), migration_engine(settings).begin() as connection:
        if not settings.is_sqlite:
            lock = text("SELECT pg_advisory_xact_lock(:number)")
            connection.execute(lock, {"number": _POSTGRESQL_LOCK})
        before = stored_revision(connection)
        if before and not is_known(before):
            raise CannotRun(
                f"the database has revision {before}, which this version does not know: "
                "install the newer version again, or restore a backup"
            )
        if before != needed_revision():
            logger.info("upgrading the tables from %s to %s", before or "none", needed_revision())
            logging.getLogger("alembic").setLevel(logging.WARNING)
            _to_head(connection)
            _check_references(settings, connection)
        return before, stored_revision(connection)


def current(settings: Settings) -> str:
    """Return the revision of the tables, or an empty text without a database."""
    if settings.is_sqlite and not settings.sqlite_file.is_file():
        return ""
    with migration_engine(settings).connect() as connection:
        return stored_revision(connection)


def migration_engine(settings: Settings) -> Engine:
    """Create an engine in which SQLite can rebuild tables and runs a migration as one transaction."""
    url = settings.effective_database_url
    parameters = {} if settings.is_sqlite else postgresql_parameters(url)
    engine = create_engine(url, poolclass=NullPool, connect_args=parameters, hide_parameters=True)
    if settings.is_sqlite:

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.isolation_level = None
            # With foreign keys on, dropping the old copy of a rebuilt table would delete the rows
            # that refer to it.
            for pragma in ("foreign_keys=OFF", "journal_mode=WAL", "busy_timeout=30000"):
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _to_head(connection: Connection) -> None:
    # Imported here because every command would load it and few starts migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # ConfigParser reads % as the start of a reference.
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_references(settings: Settings, connection: Connection) -> None:
    if settings.is_sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise CannotRun("the migration would leave references to missing rows; nothing was changed")


@contextmanager
def _file_lock(settings: Settings) -> Iterator[None]:
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(settings.data_dir / "migrate.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
