"""The children's output: one pipe, copied to ours without ever waiting for a slow reader."""

import os
import select
from contextlib import suppress

_STEP_BYTES = 4096
_KEPT_BYTES = 1 << 20


class OutputPump:
    """Copies what children write; when nobody reads our output, lines are dropped, not waited for.

    A reader that stops reading would otherwise fill the pipe and stop the whole service.
    """

    def __init__(self, target: int = 2) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self._target = target
        self._waiting = bytearray()
        self._dropped = 0

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
        """Pass on the rest."""
        self.copy()
        os.close(self.read_end)
        os.close(self.write_end)

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
