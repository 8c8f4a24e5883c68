"""Where the sender's threads have their results recorded: each waits until its own is durable."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.kept_writer import KeptWriter
from app.core.settings import Settings
from app.webhooks import results
from app.webhooks.results import Result

logger = logging.getLogger(__name__)

_PAUSE_S = 0.5


@dataclass(slots=True)
class _Entry:
    result: Result
    woken: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    is_written: bool = False
    following: "_Entry | None" = None


class Ledger:
    """Records results, those of many threads in one transaction.

    A thread that is alone writes at once, with no hand-over. While it writes, others queue; then
    the first of them writes for all.
    """

    def __init__(
        self, db: Database, settings: Settings, note: Callable[[Sequence[Result]], None]
    ) -> None:
        self._settings = settings
        self._note = note
        self._queue: deque[_Entry] = deque()
        self._lock = threading.Lock()
        self._writer = KeptWriter(db)
        self._writing = threading.Lock()
        self._closed = threading.Event()

    def record(self, result: Result) -> bool:
        """Return once the result is committed; without a database, wait for it.

        Returns False when the ledger was closed before: then nothing more may be sent.
        """
        entry = _Entry(result)
        with self._lock:
            if self._closed.is_set():
                return False
            self._queue.append(entry)
            entry.leads = self._queue[0] is entry
        if not entry.leads:
            entry.woken.wait()
        try:
            if entry.leads:
                self._write_for_all()
        finally:
            # One wakes the next: woken all at once, they would fight for the interpreter.
            if entry.following is not None:
                entry.following.woken.set()
        return entry.is_written

    def close(self) -> None:
        """Record no more; what is being written is finished first."""
        with self._lock:
            self._closed.set()
        with self._writing:
            self._writer.close()

    def _write_for_all(self) -> None:
        """Write what has queued, then hand the lead to the first that came meanwhile."""
        with self._lock:
            gathered = list(self._queue)
        written = False
        try:
            while not (self._closed.is_set() or written):
                written = self._write([each.result for each in gathered])
                if not written:
                    self._closed.wait(_PAUSE_S)
        except Exception:
            self._closed.set()  # what cannot be recorded must not be sent either
            raise
        finally:
            self._let_go(gathered, written=written)

    def _let_go(self, gathered: Sequence[_Entry], *, written: bool) -> None:
        with self._lock:
            for each in gathered:
                self._queue.popleft()
                each.is_written = written
            chain = list(gathered)
            if self._closed.is_set():
                chain += self._queue
                self._queue.clear()
            elif self._queue:
                self._queue[0].leads = True
                chain.append(self._queue[0])
        for entry, following in pairwise(chain):
            entry.following = following

    def _write(self, ended: Sequence[Result]) -> bool:
        try:
            with self._writing, self._writer.writing() as connection:
                recorded = results.record(connection, ended, self._settings)
        except ServiceUnavailable as error:
            logger.warning("results of webhooks wait for the database: %s", error.message)
            return False
        self._note(recorded)
        return True
