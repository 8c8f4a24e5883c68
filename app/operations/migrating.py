"""Migration of the tables to the revision that this version needs; one process at a time."""

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    create_engine,
    event,
    func,
    select,
    text,
    update,
)
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.core.commands import COMMAND
from app.core.database.engine import postgresql_parameters, set_on_connect
from app.core.database.schema_revision import (
    SchemaState,
    is_known,
    is_usable,
    needed_revision,
    stored_revision,
)
from app.core.settings import Settings
from app.evaluations.search import index
from app.operations.failure import CannotRun

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext, MigrationInfo

logger = logging.getLogger(__name__)

_POSTGRESQL_LOCK = 7_365_210_415
_LOCK_NOT_AVAILABLE = "55P03"
_LOCK_TIMEOUT = "2s"
_LOCK_PAUSE_S = 0.2
_PAUSE_S = 1.0
_PATIENCE_S = 300.0


def upgrade(settings: Settings) -> tuple[str, str]:
    """Run the missing migrations; return the revisions before and after.

    On SQLite they are one transaction. On PostgreSQL each is one, because its locks hold up the
    service; an interrupted upgrade goes on where it stopped.

    Raises:
        CannotRun: the tables are of a newer version, or in use for too long.
    """
    engine = migration_engine(settings)
    with _one_at_a_time(settings, engine):
        with engine.connect() as connection:
            before, usable = stored_revision(connection), is_usable(connection)
        if before and not is_known(before) and not usable:
            raise CannotRun(
                f"the database has revision {before}, which this version does not know: "
                "install the newer version again, or restore a backup"
            )
        if usable:
            return before, before
        logger.info("upgrading the tables from %s to %s", before or "none", needed_revision())
        logging.getLogger("alembic").setLevel(logging.WARNING)
        if settings.is_sqlite:
            with engine.begin() as connection:
                _to_head(connection)
                _check_references(connection)
        else:
            _to_head_in_steps(engine)
        return before, needed_revision()


def current(settings: Settings) -> str:
    """Return the revision of the tables, or an empty text without a database."""
    if settings.is_sqlite and not settings.sqlite_file.is_file():
        return ""
    with migration_engine(settings).connect() as connection:
        return stored_revision(connection)


def rebuild_search_index(settings: Settings) -> None:
    """Rebuild the index of what was said, which a copy of a SQLite database lacks."""
    with Session(migration_engine(settings)) as session, session.begin():
        index.rebuild(session)


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


def _to_head_in_steps(engine: Engine) -> None:
    """Try again while tables are in use: a session that waits for a lock blocks all later ones."""
    set_on_connect(engine, f"lock_timeout={_LOCK_TIMEOUT}")
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with engine.connect() as connection:
                _to_head(connection)
            return
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
                raise
            if time.monotonic() > until:
                raise CannotRun(
                    "the upgrade found a table in use for minutes: end long transactions, such as "
                    f"exports or backups, and run `{COMMAND} db upgrade` again, which goes on from here"
                ) from error
        time.sleep(_PAUSE_S)


def _check_references(connection: Connection) -> None:
    if connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise CannotRun("the migration would leave references to missing rows; nothing was changed")


def note_step(*, ctx: "MigrationContext", step: "MigrationInfo", **_: object) -> None:
    """Lock older code out of the tables after a step of the kind "contract"."""
    script, connection = step.up_revision, ctx.connection
    if script is None or connection is None or not step.is_upgrade:
        return
    if getattr(script.module, "kind", "") == "contract":  # type: ignore[attr-defined]
        connection.execute(update(SchemaState).values(oldest_code=script.revision))


@contextmanager
def _one_at_a_time(settings: Settings, engine: Engine) -> Iterator[None]:
    """Let one process migrate: of this host by a file, of all hosts by a lock of PostgreSQL."""
    with _file_lock(settings):
        if settings.is_sqlite:
            yield
            return
        # A transaction's lock, unlike a session's, holds behind a pooler too. It is tried again
        # and again: a waiting statement would hold up an index that is built meanwhile.
        with engine.connect() as connection:
            while not connection.scalar(select(func.pg_try_advisory_xact_lock(_POSTGRESQL_LOCK))):
                connection.rollback()
                time.sleep(_LOCK_PAUSE_S)
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            yield


@contextmanager
def _file_lock(settings: Settings) -> Iterator[None]:
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(settings.data_dir / "migrate.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
