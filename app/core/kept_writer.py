"""Write transactions over one kept connection, for small writes a thousand times a second.

A new session and a pooled connection for each, as in `Database.writing`, would cost more than the
transaction itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from app.core.database.session import Database, translated_errors


class KeptWriter:
    """Opens one write transaction after the other; for one thread at a time, and without bells."""

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
        """Let go of the connection; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
