"""Detection of channels that repeat another channel."""

import math

import numpy as np

from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.recording import Recording

_WINDOW_SAMPLES = 30 * SAMPLE_RATE_HZ
_SAME_CORRELATION = 0.98
_SAME_LEVEL_RATIO = 2.0


def distinct_channels(recording: Recording) -> list[int]:
    """Return the channels that do not repeat an earlier one; dual mono has one such channel."""
    distinct: list[int] = []
    for channel in range(recording.channels):
        if not any(_same(recording, earlier, channel) for earlier in distinct):
            distinct.append(channel)
    return distinct


def _same(recording: Recording, first: int, second: int) -> bool:
    """Compare waveform and loudness: an echo has the same waveform, but is fainter."""
    cross = first_power = second_power = 0.0
    for start in range(0, recording.sample_count, _WINDOW_SAMPLES):
        a = recording.read(first, start, start + _WINDOW_SAMPLES)
        b = recording.read(second, start, start + _WINDOW_SAMPLES)
        cross += float(np.dot(a, b))
        first_power += float(np.dot(a, a))
        second_power += float(np.dot(b, b))
    if not first_power or not second_power:
        return False
    ratio = math.sqrt(first_power / second_power)
    alike = abs(cross) >= _SAME_CORRELATION * math.sqrt(first_power * second_power)
    return alike and 1 / _SAME_LEVEL_RATIO <= ratio <= _SAME_LEVEL_RATIO
