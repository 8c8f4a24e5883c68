"""Result writer: records the results of many threads in one transaction, and waits until durable."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from sqlalchemy import Connection

from app.core.database.session import Database, translated_errors
from app.core.errors import ServiceUnavailable
from app.core.settings import Settings
from app.webhooks.sender import results
from app.webhooks.sender.results import AttemptResult

logger = logging.getLogger(__name__)

_RETRY_AFTER_S = 0.5


@dataclass(slots=True)
class _Entry:
    """A result in the queue; its thread waits until it is written or leads the next batch."""

    result: AttemptResult
    woken: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    is_written: bool = False
    wakes: "_Entry | None" = None


class ResultWriter:
    """Records results; one thread writes the results of all threads that wait.

    A thread that is alone writes at once. While it writes, others queue their results; then the
    first of them writes for all. Each thread wakes one other: woken all at once, they would compete
    for the interpreter, and batches would be small.

    Args:
        on_recorded: called with the results whose claim was still held.
    """

    def __init__(
        self,
        db: Database,
        settings: Settings,
        on_recorded: Callable[[Sequence[AttemptResult]], None],
    ) -> None:
        self._settings = settings
        self._on_recorded = on_recorded
        self._connection = _WriteConnection(db)
        self._queue: deque[_Entry] = deque()
        self._queue_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = threading.Event()

    def record(self, result: AttemptResult) -> bool:
        """Return once the result is committed, however long the database is away.

        Returns False when the writer was closed before: then nothing more may be sent.
        """
        entry = _Entry(result)
        with self._queue_lock:
            if self._closed.is_set():
                return False
            self._queue.append(entry)
            entry.leads = self._queue[0] is entry
        if not entry.leads:
            entry.woken.wait()
        try:
            if entry.leads:
                self._write_batch()
        finally:
            if entry.wakes is not None:
                entry.wakes.woken.set()
        return entry.is_written

    def close(self) -> None:
        """Refuse further results, and wait for a running write to end."""
        with self._queue_lock:
            self._closed.set()
        with self._write_lock:
            self._connection.close()

    def _write_batch(self) -> None:
        """Write the queued results; the first thread that queued meanwhile leads the next batch."""
        with self._queue_lock:
            batch = list(self._queue)
        is_written = False
        try:
            while not (self._closed.is_set() or is_written):
                is_written = self._write([entry.result for entry in batch])
                if not is_written:
                    self._closed.wait(_RETRY_AFTER_S)
        except Exception:
            self._closed.set()  # what cannot be recorded must not be sent either
            raise
        finally:
            self._end_batch(batch, is_written=is_written)

    def _end_batch(self, batch: Sequence[_Entry], *, is_written: bool) -> None:
        """Take the batch off the queue, and link the threads to wake to a chain."""
        with self._queue_lock:
            for entry in batch:
                self._queue.popleft()
                entry.is_written = is_written
            chain = list(batch)
            if self._closed.is_set():
                chain += self._queue
                self._queue.clear()
            elif self._queue:
                self._queue[0].leads = True
                chain.append(self._queue[0])
        for entry, following in pairwise(chain):
            entry.wakes = following

    def _write(self, batch: Sequence[AttemptResult]) -> bool:
        try:
            with self._write_lock, self._connection.writing() as connection:
                recorded = results.record(connection, batch, self._settings)
        except ServiceUnavailable as error:
            logger.warning("results of webhooks wait for the database: %s", error.message)
            return False
        self._on_recorded(recorded)
        return True


class _WriteConnection:
    """Write transactions over one kept connection, by one thread at a time.

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
