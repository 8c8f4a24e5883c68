"""Two sides of a call: two recordings of one channel each are written as one of two channels."""

import wave
from pathlib import Path
from typing import IO

import numpy as np

from app.speech.decoder import Recording, Sound, decode
from app.speech.decoding.sound import SAMPLE_BYTES, SAMPLE_RATE_HZ, DecodingLimits
from app.speech.errors import UnsupportedMedia

_STEP_SAMPLES = 60 * SAMPLE_RATE_HZ
_FULL_SCALE = 32767
# Systems end the files of both sides together, give or take what one side said last.
_MOST_DIFFERENCE_S = 10
_MOST_DIFFERENCE_SHARE = 0.2


def join(
    first: Path,
    second: Path,
    target: IO[bytes],
    *,
    spool_dir: Path,
    min_free_bytes: int,
    second_later_s: float = 0,
) -> None:
    """Write both sides as a WAV file, the first on the left.

    Args:
        second_later_s: by how much the second side begins later, negative where it begins before.

    Raises:
        TranscriptionError: a file cannot be decoded, has two channels, or the lengths do not fit.
    """
    limits = DecodingLimits(min_free_bytes=min_free_bytes)
    with (
        decode(first, limits=limits, spool_dir=spool_dir) as left,
        decode(second, limits=limits, spool_dir=spool_dir) as right,
    ):
        leads = (max(0.0, -second_later_s), max(0.0, second_later_s))
        _require_fit(left, right, leads)
        _write((left, right), leads, target)


def _require_fit(left: Recording, right: Recording, leads: tuple[float, float]) -> None:
    if left.channels != 1 or right.channels != 1:
        raise UnsupportedMedia("A file of a pair must have one channel: this one has both sides.")
    lead_s = max(leads)
    seconds = sorted(
        side.duration_ms / 1000 + lead for side, lead in zip((left, right), leads, strict=True)
    )
    if lead_s >= min(left.duration_ms, right.duration_ms) / 1000:
        raise UnsupportedMedia(
            f"The two files begin {lead_s:.0f} seconds apart: they are not the sides of one call."
        )
    if seconds[1] - seconds[0] > max(_MOST_DIFFERENCE_S, _MOST_DIFFERENCE_SHARE * seconds[1]):
        raise UnsupportedMedia(
            f"The two files end after {seconds[0]:.0f} and {seconds[1]:.0f} seconds: they are not"
            " the sides of one call."
        )


def _write(
    sides: tuple[Recording, Recording], leads: tuple[float, float], target: IO[bytes]
) -> None:
    before = [round(lead * SAMPLE_RATE_HZ) for lead in leads]
    with wave.open(target, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(SAMPLE_BYTES)
        writer.setframerate(SAMPLE_RATE_HZ)
        length = max(side.sample_count + silent for side, silent in zip(sides, before, strict=True))
        for start in range(0, length, _STEP_SAMPLES):
            stop = min(length, start + _STEP_SAMPLES)
            sound = [
                _read(side, start - silent, stop - silent)
                for side, silent in zip(sides, before, strict=True)
            ]
            samples = (np.stack(sound, axis=1) * _FULL_SCALE).round().astype("<i2")
            writer.writeframes(samples.tobytes())


def _read(side: Recording, start: int, stop: int) -> Sound:
    """Read a stretch; what is before the start or after the end is silent."""
    sound = side.read(0, max(0, start), max(0, stop))
    before = min(max(0, -start), stop - start)
    return np.pad(sound, (before, stop - start - before - len(sound)))
