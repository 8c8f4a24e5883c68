"""Connection kept for a thousand short write transactions a second."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from app.core.database.session import Database, translated_errors


class WriteConnection:
    """Write transactions over one connection, by one thread at a time, without session and hooks.

    `Database.writing` makes a session and takes a connection from the pool for each transaction.
    That costs more than these transactions of a few rows, of which there are a thousand a second.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._connection: Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction; commit when the block ends, roll back when it raises."""
        with translated_errors():
            if self._connection is None:
                self._connection = self._db.engine.connect()
            try:
                with self._db.write_lock, self._connection.begin():
                    yield self._connection
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Give the connection back; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
