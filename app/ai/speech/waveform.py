"""Waveform of a recording: the largest amplitude of each twentieth of a second, for drawing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from app.ai.speech.decoder import decode
from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.recording import Recording
from app.ai.speech.transcriber import DecodedSound, TranscriptionOptions

MARK = b"CQW1"
PEAKS_PER_SECOND = 20
_PEAK_SAMPLES = SAMPLE_RATE_HZ // PEAKS_PER_SECOND
_WINDOW_SAMPLES = 600 * _PEAK_SAMPLES
_FULL_SCALE = 255


@contextmanager
def decoded(
    path: Path,
    options: TranscriptionOptions,
    *,
    spool_dir: Path,
    min_free_bytes: int,
    should_stop: Callable[[], bool],
) -> Iterator[DecodedSound]:
    """Decode a file without transcribing it; raises what `Transcriber.transcribe` raises."""
    limits = DecodingLimits(duration_s=options.max_duration_s, min_free_bytes=min_free_bytes)
    with decode(
        path,
        content_type=options.content_type,
        limits=limits,
        spool_dir=spool_dir,
        should_stop=should_stop,
    ) as recording:
        yield decoded_sound(recording)


def decoded_sound(recording: Recording) -> DecodedSound:
    """Return what people hear and see of a decoded recording."""
    return DecodedSound(recording.info, waveform(recording), recording.play_copy)


def waveform(recording: Recording) -> bytes:
    """Return the mark, the number of channels, the peaks a second, then each channel's peaks.

    Every number is one byte; a peak of 255 is full scale.
    """
    header = MARK + bytes([recording.channels, PEAKS_PER_SECOND])
    return header + b"".join(_peaks(recording, channel) for channel in range(recording.channels))


def _peaks(recording: Recording, channel: int) -> bytes:
    parts = []
    for start in range(0, recording.sample_count, _WINDOW_SAMPLES):
        loudness = np.abs(recording.read(channel, start, start + _WINDOW_SAMPLES))
        loudest = np.maximum.reduceat(loudness, np.arange(0, loudness.size, _PEAK_SAMPLES))
        parts.append((loudest * _FULL_SCALE).astype(np.uint8).tobytes())
    return b"".join(parts)
