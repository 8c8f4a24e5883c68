"""A PostgreSQL database that tests use one after the other, each of them empty.

A new one takes a quarter of a second of processor time: most of that the first connection to it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import sqlalchemy

from app.core.database.session import Table

# Connections that a test left open would write after it.
_DISCONNECT_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# Changes with each change of a table, a column, an index or a constraint.
_SHAPE = """
    SELECT sum(hashtext(concat(oid, xmin))), (SELECT count(*) FROM pg_constraint),
           (SELECT version_num FROM alembic_version)
    FROM pg_class
"""
_SIZE = "SELECT pg_database_size(current_database())"
_RESTART_SEQUENCES = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'"
# Deleted rows keep their space.
_GROWS_BY_BYTES = 16_000_000


class ReusedDatabase:
    """Lends a database to one test at a time; after a test that changed its tables, it is a new one."""

    def __init__(
        self, url: sqlalchemy.URL, create: Callable[[], AbstractContextManager[str]]
    ) -> None:
        """Name the server, and how a database with empty tables is created and dropped."""
        self._url = url
        self._create = create
        self._database = ExitStack()
        self._engine: sqlalchemy.Engine | None = None

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Return the URL of the empty database."""
        if self._engine is None:
            self._url = self._url.set(database=self._database.enter_context(self._create()))
            self._engine = sqlalchemy.create_engine(self._url)
            with self._engine.begin() as connection:
                self._shape = connection.exec_driver_sql(_SHAPE).one()
                self._most_bytes = connection.scalar(sqlalchemy.text(_SIZE)) + _GROWS_BY_BYTES
        yield self._url.render_as_string(hide_password=False)
        if not self._is_emptied(self._engine):
            self.drop()

    def drop(self) -> None:
        """Drop the database, if there is one."""
        if self._engine is not None:
            self._engine.dispose()
        self._database.close()
        self._engine = None

    def _is_emptied(self, engine: sqlalchemy.Engine) -> bool:
        with engine.begin() as connection:
            connection.exec_driver_sql(_DISCONNECT_OTHERS)
            if connection.exec_driver_sql(_SHAPE).one() != self._shape:
                return False
            if connection.scalar(sqlalchemy.text(_SIZE)) > self._most_bytes:
                return False
            # In any order: foreign keys are not checked.
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            # In one statement: 60 of them would take longer than many a test.
            connection.exec_driver_sql(
                "; ".join(f"DELETE FROM {name}" for name in Table.metadata.tables)
            )
            connection.exec_driver_sql(_RESTART_SEQUENCES)
        return True
