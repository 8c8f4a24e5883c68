"""Decoded recording: sound of any length in an unnamed temporary file."""

import os
from typing import IO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.ai.speech.decoding.output import SAMPLE_BYTES, SAMPLE_RATE_HZ, SourceFormat
from app.ai.transcript import AudioInfo

Sound: TypeAlias = NDArray[np.float32]


class Recording:
    """The channels of one recording as 16 kHz samples; leaving the `with` block deletes them.

    `play_copy` is an open file with sound that browsers play, where they do not play the upload.
    """

    def __init__(
        self, spool: IO[bytes], source: SourceFormat, play_copy: IO[bytes] | None = None
    ) -> None:
        self._spool = spool
        self.play_copy = play_copy
        self._frame_bytes = source.channels * SAMPLE_BYTES
        self.channels = source.channels
        self.sample_count = os.fstat(spool.fileno()).st_size // self._frame_bytes
        self.duration_ms = self.sample_count * 1000 // SAMPLE_RATE_HZ
        self.warnings = ("damaged_audio",) if source.damaged else ()
        self.info = AudioInfo(
            container=source.container,
            codec=source.codec,
            sample_rate_hz=source.sample_rate_hz,
            channels=source.channels,
            duration_ms=self.duration_ms,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._spool.close()
        if self.play_copy is not None:
            self.play_copy.close()

    def read(self, channel: int, start: int, stop: int) -> Sound:
        """Read the samples from `start` to before `stop`, scaled to -1..1."""
        count = max(0, min(stop, self.sample_count) - start)
        data = os.pread(self._spool.fileno(), count * self._frame_bytes, start * self._frame_bytes)
        samples = np.frombuffer(data, dtype=np.int16).reshape(-1, self.channels)
        return samples[:, channel].astype(np.float32) / 32768.0
