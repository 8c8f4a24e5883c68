"""The output of `up` and its children: one pipe, copied on without ever waiting for a slow reader."""

import os
import select
import sys
import time
from contextlib import suppress

_STEP_BYTES = 4096
_KEPT_BYTES = 1 << 20
_LAST_WAIT_S = 1.0
_STDERR = 2


class OutputPump:
    """Takes the place of standard error, and copies what is written to it to where that led.

    When nobody reads there, lines are dropped instead of waited for: a reader that stops reading
    would otherwise fill the pipe and stop the whole service at its next line.
    """

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        sys.stderr.flush()
        self._target = os.dup(_STDERR)
        os.dup2(self.write_end, _STDERR)
        self._waiting = bytearray()
        self._dropped = 0

    @property
    def private(self) -> tuple[int, int]:
        """The handles that children have no use for."""
        return self.read_end, self._target

    def copy(self) -> None:
        """Take what is there and pass on what the reader takes."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.read_end, 65536):
                self._waiting += chunk
                if len(chunk) < 65536:
                    break
        self._pass_on()
        if len(self._waiting) > _KEPT_BYTES:
            self._drop()

    def close(self) -> None:
        """Pass on the rest, within a second, and give standard error back."""
        sys.stderr.flush()
        self.copy()
        until = time.monotonic() + _LAST_WAIT_S
        while self._waiting and time.monotonic() < until:
            select.select([], [self._target], [], 0.1)
            self._pass_on()
        os.dup2(self._target, _STDERR)
        for handle in (self.read_end, self.write_end, self._target):
            os.close(handle)

    def _pass_on(self) -> None:
        # select promises room for this many bytes in a pipe, so that the write does not block.
        while self._waiting and select.select([], [self._target], [], 0)[1]:
            try:
                written = os.write(self._target, self._waiting[:_STEP_BYTES])
            except OSError:
                # The reader is gone; the service goes on without one.
                self._waiting.clear()
                return
            del self._waiting[:written]
        if self._dropped and not self._waiting:
            self._waiting += f"({self._dropped} log lines were dropped: nobody read)\n".encode()
            self._dropped = 0

    def _drop(self) -> None:
        end = self._waiting.rfind(b"\n", 0, len(self._waiting) // 2) + 1
        self._dropped += self._waiting.count(b"\n", 0, end)
        del self._waiting[:end]
