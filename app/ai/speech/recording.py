"""Decoded sound of any length in little memory: one unnamed temporary file for each channel."""

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.ai.transcript import AudioInfo

SAMPLE_RATE_HZ = 16_000
_BUFFER_BYTES = 1 << 18
_SAMPLE_BYTES = 2

Sound: TypeAlias = NDArray[np.float32]


class Recording:
    """The channels of one recording as 16 kHz samples; leaving the `with` block removes them."""

    def __init__(self, spool_dir: Path | None = None) -> None:
        self._spool_dir = spool_dir
        self._files: list[IO[bytes]] = []
        self.sample_count = 0
        self.info: AudioInfo | None = None
        self.warnings: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def channels(self) -> int:
        """Count the channels."""
        return len(self._files)

    @property
    def duration_ms(self) -> int:
        """Measure the length in whole milliseconds."""
        return self.sample_count * 1000 // SAMPLE_RATE_HZ

    def append(self, samples: NDArray[np.int16]) -> None:
        """Add samples of shape (channels, n); the first call settles the number of channels."""
        if not self._files:
            self._files = [self._new_file() for _ in samples]
        for file, channel in zip(self._files, samples, strict=True):
            file.write(channel.tobytes())
        self.sample_count += samples.shape[1]

    def flush(self) -> None:
        """Make all that was appended readable."""
        for file in self._files:
            file.flush()

    def read(self, channel: int, start: int, stop: int) -> Sound:
        """Read the samples from `start` to before `stop`, scaled to -1..1."""
        size_bytes = max(0, min(stop, self.sample_count) - start) * _SAMPLE_BYTES
        data = os.pread(self._files[channel].fileno(), size_bytes, start * _SAMPLE_BYTES)
        return np.frombuffer(data, dtype=np.int16).astype(np.float32) / 32768.0

    def close(self) -> None:
        """Give the disk space back."""
        for file in self._files:
            file.close()
        self._files = []

    def _new_file(self) -> IO[bytes]:
        return tempfile.TemporaryFile(dir=self._spool_dir, buffering=_BUFFER_BYTES)
