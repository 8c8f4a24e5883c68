"""Durability of SQLite commits: those that end at about the same time share one wait for the disk."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Lock

from app.core.errors import ServiceUnavailable

_QUICK_S = 0.002
_REMEMBERED = 8
# macOS has no fdatasync.
flush_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class CommitFlush:
    """Waits until a commit is on the disk.

    With `synchronous=FULL`, SQLite waits for the disk within the commit, while all other writers
    wait for their turn. With `NORMAL`, a commit is only appended to the write-ahead log. `wait`
    then flushes the log, outside of the transaction, and one flush serves every commit that was
    appended before it began.
    """

    def __init__(
        self,
        database_file: str | None,
        flush: Callable[[int], None],
        moments: Iterator[int] | None = None,
    ) -> None:
        """Flush the log of a database.

        Args:
            flush: waits until an open file is on the disk.
            moments: numbers that rise; by default those from 1 on.
        """
        self._log = f"{database_file}-wal"
        self._flush = flush
        self._lock = Lock()
        self._moments = moments or count(1)
        self._flushed_until = 0
        self._mean_s = 0.0

    @property
    def is_quick(self) -> bool:
        """Whether the last flushes took less than 2 ms each, so that it does not pay to share them."""
        return self._mean_s < _QUICK_S

    def wait(self) -> None:
        """Return when everything that this thread has committed is on the disk.

        Raises:
            ServiceUnavailable: the disk does not take it.
        """
        committed_at = next(self._moments)
        with self._lock:
            if self._flushed_until > committed_at:
                return
            began_at = next(self._moments)
            try:
                started_s = time.monotonic()
                self._flush_log()
                self._mean_s += (time.monotonic() - started_s - self._mean_s) / _REMEMBERED
            except OSError as error:
                raise ServiceUnavailable(
                    "The disk did not confirm the change: look whether it was made, then try again."
                ) from error
            self._flushed_until = began_at

    def _flush_log(self) -> None:
        # Without the file, its content has been moved to the database file and flushed.
        with suppress(FileNotFoundError):
            handle = os.open(self._log, os.O_RDONLY)
            try:
                self._flush(handle)
            finally:
                os.close(handle)
