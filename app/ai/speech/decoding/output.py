"""Format of decoded sound: 16 kHz, signed 16-bit samples, channels interleaved."""

from dataclasses import dataclass

SAMPLE_RATE_HZ = 16_000
SAMPLE_BYTES = 2
# Error code of a report, in addition to the codes of `errors`.
DISK_FULL = "disk_full"


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
