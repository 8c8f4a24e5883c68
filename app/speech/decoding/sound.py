"""Decoded sound, 16 kHz of signed 16-bit samples with channels interleaved, and the limits of decoding."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

SAMPLE_RATE_HZ = 16_000
SAMPLE_BYTES = 2
# Error code of a report, in addition to the codes of `speech.errors`.
DISK_FULL = "disk_full"
DEFAULT_MAX_DURATION_S = 4 * 3600
MAX_CHANNELS = 8
MAX_TRACKS = 8
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """Properties of the uploaded file, as found while decoding; `damaged` parts were skipped.

    `layout` is FFmpeg's name of the channels. `needs_play_copy`: see `play_copy.is_needed`.
    """

    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    layout: str
    damaged: bool
    needs_play_copy: bool


@dataclass(frozen=True, slots=True)
class DecodingLimits:
    """Limits of one decoding process.

    `cpu_s` and `wall_s` are granted at the start, and more for each decoded minute of each channel.
    An ordinary recording needs 130 to 200 MiB of address space, and 0.03 to 0.2 s of processor time
    for a minute of stereo.
    `min_free_bytes` of the disk stay free.
    """

    duration_s: float = DEFAULT_MAX_DURATION_S
    memory_bytes: int = 1024 * _MIB
    cpu_s: float = 10.0
    cpu_s_per_minute: float = 3.0
    wall_s: float = 60.0
    wall_s_per_minute: float = 15.0
    min_free_bytes: int = 0

    @property
    def channel_samples(self) -> int:
        """Maximum of samples over all channels: two channels of the longest duration."""
        return int(2 * self.duration_s * SAMPLE_RATE_HZ)

    def cpu_allowance_s(self, decoded_bytes: int) -> float:
        """Return the processor time that this much sound allows."""
        return self.cpu_s + self.cpu_s_per_minute * _minutes(decoded_bytes)

    def wall_allowance_s(self, decoded_bytes: int) -> float:
        """Return the time that this much sound allows."""
        return self.wall_s + self.wall_s_per_minute * _minutes(decoded_bytes)


def silence(spool: int, spans: Iterable[tuple[int, int]], channels: int) -> None:
    """Zero stretches of decoded sound, given in ms."""
    frame_bytes = channels * SAMPLE_BYTES
    end = os.fstat(spool).st_size
    for start_ms, end_ms in spans:
        position, stop = (
            min(end, ms * SAMPLE_RATE_HZ // 1000 * frame_bytes) for ms in (start_ms, end_ms)
        )
        while position < stop:
            position += os.pwrite(spool, bytes(min(_MIB, stop - position)), position)


def _minutes(decoded_bytes: int) -> float:
    return decoded_bytes / (SAMPLE_BYTES * SAMPLE_RATE_HZ * 60)
