"""Output of `up` and its children: one pipe, copied to standard error without blocking."""

import os
import select
import sys
import time
from contextlib import suppress

_STEP_BYTES = 4096
_MAX_PENDING_BYTES = 1 << 20
_CLOSE_WITHIN_S = 1.0
_STDERR = 2


class OutputPump:
    """Replaces standard error with a pipe, and copies from the pipe to the former standard error.

    When nobody reads there, lines are dropped. Otherwise a reader that stops reading would fill the
    pipe and block the whole service at its next line.
    """

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        sys.stderr.flush()
        self._target = os.dup(_STDERR)
        os.dup2(self.write_end, _STDERR)
        self._pending = bytearray()
        self._dropped_lines = 0

    @property
    def private(self) -> tuple[int, int]:
        """The file descriptors that children do not need."""
        return self.read_end, self._target

    def copy(self) -> None:
        """Read what is in the pipe, and write as much as the reader takes."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.read_end, 65536):
                self._pending += chunk
                if len(chunk) < 65536:
                    break
        self._write()
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._drop()

    def close(self) -> None:
        """Write the rest, within a second, and restore standard error."""
        sys.stderr.flush()
        self.copy()
        until = time.monotonic() + _CLOSE_WITHIN_S
        while self._pending and time.monotonic() < until:
            select.select([], [self._target], [], 0.1)
            self._write()
        os.dup2(self._target, _STDERR)
        for descriptor in (self.read_end, self.write_end, self._target):
            os.close(descriptor)

    def _write(self) -> None:
        # A pipe that select reports as writable takes this many bytes without blocking.
        while self._pending and select.select([], [self._target], [], 0)[1]:
            try:
                written = os.write(self._target, self._pending[:_STEP_BYTES])
            except OSError:
                # The reader has gone; the service continues without one.
                self._pending.clear()
                return
            del self._pending[:written]
        if self._dropped_lines and not self._pending:
            message = f"({self._dropped_lines} log lines were dropped: nobody read them)\n"
            self._pending += message.encode()
            self._dropped_lines = 0

    def _drop(self) -> None:
        end = self._pending.rfind(b"\n", 0, len(self._pending) // 2) + 1
        self._dropped_lines += self._pending.count(b"\n", 0, end)
        del self._pending[:end]
