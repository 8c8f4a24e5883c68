"""Large bodies: their requests are served one after the other, and leave a process with much memory."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from app.core.errors import ServiceUnavailable

_MOST_WAITING = 4
_MOST_RESIDENT_BYTES = 250 * 1024 * 1024


class LargeBodies:
    """The thread that serves the requests with a large body, and the number of them.

    The poller alone calls its methods.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "large body")
        self._count = 0  # of those that wait or are served

    def serve(self, answer: Callable[[Any], None], connection: Any) -> "Future[None]":
        """Serve a request after those that came before it; `end` is to be called after it.

        Raises:
            ServiceUnavailable: too many wait.
        """
        if self._count > _MOST_WAITING:
            message = "Too many large requests are waiting: try again."
            raise ServiceUnavailable(message, retry_after_s=2)
        self._count += 1
        return self._thread.submit(answer, connection)

    def end(self) -> bool:
        """Note the end of a request; return whether the process has grown too large to keep."""
        self._count -= 1
        return _resident_bytes() > _MOST_RESIDENT_BYTES


def _resident_bytes() -> int:
    """Return the memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
