"""Limits that decoding one recording must keep."""

from dataclasses import dataclass

from app.ai.speech.decoding.output import SAMPLE_BYTES, SAMPLE_RATE_HZ

DEFAULT_MAX_DURATION_S = 4 * 3600
MAX_CHANNELS = 8
MAX_TRACKS = 8
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class DecodingLimits:
    """Limits of one decoding process.

    Time is granted with the sound: `cpu_s` and `wall_s` at the start, and more for each minute of
    each channel that was decoded. Ordinary recordings need 40 MiB above the 130 MiB of the
    interpreter and its libraries, and 0.1 to 0.4 s for a minute. `min_free_bytes` stay free on the
    disk of the spool.
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
        """The samples of all channels together: two channels of the longest duration."""
        return int(2 * self.duration_s * SAMPLE_RATE_HZ)

    def cpu_allowance_s(self, decoded_bytes: int) -> float:
        """Return the processor time that may be spent on this much sound."""
        return self.cpu_s + self.cpu_s_per_minute * _minutes(decoded_bytes)

    def wall_allowance_s(self, decoded_bytes: int) -> float:
        """Return the time that may pass for this much sound."""
        return self.wall_s + self.wall_s_per_minute * _minutes(decoded_bytes)


def _minutes(decoded_bytes: int) -> float:
    return decoded_bytes / (SAMPLE_BYTES * SAMPLE_RATE_HZ * 60)
