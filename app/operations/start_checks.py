"""Checks of a start: a process refuses a database that it cannot read or would damage."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Table as Definition
from sqlalchemy import inspect

from app.core.commands import COMMAND
from app.core.database import key_checks
from app.core.database.schema_revision import is_usable, needed_revision, stored_revision
from app.core.database.session import Reader, Table, connection_of
from app.core.errors import ServiceUnavailable
from app.core.runtime import Runtime
from app.core.secrets.encryption import load_keyring
from app.core.settings import Settings
from app.core.storage import deployment
from app.operations import stored_secrets
from app.operations.failure import CannotRun
from app.packages import load_tables
from app.system.checks import reading

_MOST_SHOWN = 5


def require_usable(runtime: Runtime) -> None:
    """Check tables, master keys and storage against the database; record the current key.

    A database that does not answer, or waits for `db upgrade`, is left to /health and to the
    worker, which waits for it.

    Raises:
        CannotRun: tables or columns are not those of this version.
        ForeignStorage: the storage is another deployment's, or not mounted.
        UnknownMasterKey: a master key is missing or is another one.
    """
    try:
        with runtime.db.reading() as session:
            if not is_usable(session):
                return
            require_tables(session)
            stored_secrets.require_readable(session, runtime.keyring)
            is_recorded = runtime.keyring.current_id in key_checks.recorded_values(session)
        if not is_recorded:
            with runtime.db.writing() as session:
                stored_secrets.require_readable(session, runtime.keyring)
                key_checks.record_current(session, runtime.keyring)
        deployment.require_own(runtime.db, runtime.storage)
    except ServiceUnavailable:
        return
    finally:
        # The caller may fork; its children must not share a connection.
        runtime.db.engine.dispose()


def require_ready(runtime: Runtime) -> None:
    """Check what a command needs, which waits for nothing: a start's checks and the tables.

    Raises:
        CannotRun: tables or columns are not those of this version.
        ServiceUnavailable: the database is damaged or does not answer.
        ForeignStorage, UnknownMasterKey: see `require_usable`.
    """
    with runtime.db.reading() as session:
        require_tables(session)
    require_usable(runtime)


def require_startable(settings: Settings) -> None:
    """Check what a start checks first, and change nothing.

    Raises:
        CannotRun: the master keys are gone, or the tables are not those of this version.
        ServiceUnavailable: the database is damaged or does not answer.
        SettingsError: the master keys cannot be read.
        UnknownMasterKey: a master key is missing or is another one.
    """
    if not stored_secrets.has_keys(settings):
        return
    keyring = load_keyring(settings)
    with reading(settings) as session:
        if session is not None and is_usable(session):
            require_tables(session)
            stored_secrets.require_readable(session, keyring)


def require_tables(database: Reader) -> None:
    """Raise `CannotRun` if tables or columns are not those that this version needs."""
    revision = stored_revision(database)
    if not revision:
        raise CannotRun(
            "the database has no tables: restore a backup (docs/backup.md), or, for an empty one, "
            f"run `{COMMAND} db upgrade`"
        )
    if not is_usable(database):
        raise CannotRun(
            f"the tables are at {revision}, this version needs {needed_revision()}: "
            f"run `{COMMAND} db upgrade`"
        )
    problems = _differences(database)
    if problems:
        rest = f", and {len(problems) - _MOST_SHOWN} more" if len(problems) > _MOST_SHOWN else ""
        raise CannotRun(
            f"the database says that it has revision {revision}, but "
            f"{'; '.join(problems[:_MOST_SHOWN])}{rest}. Something other than `db upgrade` changed "
            "it: undo that, or restore a backup"
        )


def _differences(database: Reader) -> list[str]:
    """Return what is missing in the tables or in the way, a phrase each; those of others are ignored."""
    load_tables()
    inspector = inspect(connection_of(database))
    columns = {table: details for (_, table), details in inspector.get_multi_columns().items()}
    indexes = {table: details for (_, table), details in inspector.get_multi_indexes().items()}
    problems: list[str] = []
    for table in Table.metadata.sorted_tables:
        if table.name not in columns:
            problems.append(f"the table {table.name} is missing")
            continue
        actual = {column["name"]: column for column in columns[table.name]}
        problems += _of_columns(table, actual)
        index_names = {index["name"] for index in indexes.get(table.name, ())}
        problems += [
            f"the index {index.name} of {table.name} is missing"
            for index in sorted(table.indexes, key=lambda index: str(index.name))
            if index.name not in index_names
        ]
    return problems


def _of_columns(table: Definition, actual: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for column in table.columns:
        if column.name not in actual:
            yield f"{table.name} has no column {column.name}"
        elif actual[column.name]["nullable"] != column.nullable:
            may = "may" if actual[column.name]["nullable"] else "may not"
            yield f"the column {column.name} of {table.name} {may} be empty"
    for name, definition in actual.items():
        needs_value = not definition["nullable"] and definition["default"] is None
        if name not in table.columns and needs_value:
            yield f"{table.name} has a column {name} that this version does not fill"
