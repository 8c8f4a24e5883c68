"""Circuit breaker: keeps the threads of a web process from waiting for a storage that is silent."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from app.core.process.log import OnceAMinute
from app.core.storage.objects import StorageAway

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_WAIT_S = 0.25
_PAUSE_S = 5.0


class RequestBreaker:
    """Lets so many requests ask the storage at once.

    One that finds no room waits for a moment; the next ones are refused at once, until the storage
    answers again. After a failure all are refused for five seconds, and then one at a time may try.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._asking = 0
        self._is_slow = False
        self._failed_at: float | None = None
        self._changed = threading.Condition()

    @contextmanager
    def asking(self, *, takes_room: bool = True) -> Iterator[None]:
        """Ask the storage within the block, unless it does not answer now.

        Args:
            takes_room: False for a transfer, which takes long although the storage answers.

        Raises:
            StorageAway: the storage has not answered others.
        """
        self._enter(int(takes_room))
        try:
            yield
        except StorageAway as error:
            logger.warning("the object storage does not answer: %s", error.__cause__)
            self._leave(int(takes_room), is_failure=True)
            raise
        except BaseException:
            self._leave(int(takes_room), is_failure=False)
            raise
        self._leave(int(takes_room), is_failure=False)

    def _enter(self, room: int) -> None:
        with self._changed:
            wait_s = 0.0 if self._is_slow else _WAIT_S
            if not self._changed.wait_for(lambda: self._has(room), timeout=wait_s):
                self._is_slow = True
                raise StorageAway
            self._asking += room

    def _has(self, room: int) -> bool:
        if self._failed_at is None:
            return self._asking + room <= self._at_once
        return not self._asking and time.monotonic() >= self._failed_at + _PAUSE_S

    def _leave(self, room: int, *, is_failure: bool) -> None:
        with self._changed:
            self._asking -= room
            self._is_slow = is_failure
            self._failed_at = time.monotonic() if is_failure else None
            self._changed.notify_all()


_of_requests: RequestBreaker | None = None


def answer_requests(threads: int) -> None:
    """Note that this process answers requests with so many threads, of which two stay free."""
    global _of_requests
    _of_requests = RequestBreaker(max(1, threads - 2))


def of_requests() -> RequestBreaker | None:
    """Return the breaker of a web process; None in a process whose jobs wait for the storage."""
    return _of_requests
