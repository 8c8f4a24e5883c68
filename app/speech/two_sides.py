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
    first: Path, second: Path, target: IO[bytes], *, spool_dir: Path, min_free_bytes: int
) -> None:
    """Write both sides as a WAV file, the first on the left, aligned at their starts.

    Raises:
        TranscriptionError: a file cannot be decoded, has two channels, or the lengths do not fit.
    """
    limits = DecodingLimits(min_free_bytes=min_free_bytes)
    with (
        decode(first, limits=limits, spool_dir=spool_dir) as left,
        decode(second, limits=limits, spool_dir=spool_dir) as right,
    ):
        _require_fit(left, right)
        _write(left, right, target)


def _require_fit(left: Recording, right: Recording) -> None:
    if left.channels != 1 or right.channels != 1:
        raise UnsupportedMedia("A file of a pair must have one channel: this one has both sides.")
    seconds = sorted(side.duration_ms / 1000 for side in (left, right))
    if seconds[1] - seconds[0] > max(_MOST_DIFFERENCE_S, _MOST_DIFFERENCE_SHARE * seconds[1]):
        raise UnsupportedMedia(
            f"The two files last {seconds[0]:.0f} and {seconds[1]:.0f} seconds: they are not the"
            " sides of one call."
        )


def _write(left: Recording, right: Recording, target: IO[bytes]) -> None:
    with wave.open(target, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(SAMPLE_BYTES)
        writer.setframerate(SAMPLE_RATE_HZ)
        length = max(left.sample_count, right.sample_count)
        for start in range(0, length, _STEP_SAMPLES):
            stop = min(length, start + _STEP_SAMPLES)
            sides = [_padded(side.read(0, start, stop), stop - start) for side in (left, right)]
            samples = (np.stack(sides, axis=1) * _FULL_SCALE).round().astype("<i2")
            writer.writeframes(samples.tobytes())


def _padded(sound: Sound, length: int) -> Sound:
    return np.pad(sound, (0, length - len(sound)))
