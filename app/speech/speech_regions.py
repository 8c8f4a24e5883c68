"""Speech of a recording: its regions, found by voice activity, and their common level."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from faster_whisper.vad import VadOptions, get_speech_timestamps
from numpy.typing import NDArray

from app.speech.decoder import Recording, Sound
from app.speech.decoding.sound import SAMPLE_RATE_HZ

# Measured on telephone calls: the library's default of 0.5 misses a tenth of their speech, and on a
# noisy channel half of it.
_VAD = VadOptions(
    threshold=0.2,
    min_silence_duration_ms=700,
    speech_pad_ms=250,
    max_speech_duration_s=28,
)
_WINDOW_SAMPLES = 120 * SAMPLE_RATE_HZ
_LEVEL_FRAME_SAMPLES = SAMPLE_RATE_HZ // 50
_LEVEL_PERCENTILE = 95
_TARGET_LEVEL = 0.1
_MAX_GAIN = 30.0


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of speech on one channel, in samples, `stop` excluded."""

    channel: int
    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Speech:
    """The speech of a recording: the regions of each channel, in order."""

    recording: Recording
    regions: Mapping[int, list[Region]]

    @property
    def samples(self) -> int:
        return sum(region.length for regions in self.regions.values() for region in regions)

    @property
    def ms(self) -> int:
        return self.samples * 1000 // SAMPLE_RATE_HZ

    def longest_regions(self, number: int) -> list[Region]:
        """Return so many regions of all channels, the longest first."""
        regions = (region for of_channel in self.regions.values() for region in of_channel)
        return heapq.nlargest(number, regions, key=lambda region: region.length)

    def amplified(self, channel: int) -> Iterator[tuple[Region, Sound]]:
        """Yield each region of a channel with its sound, raised to the common level."""
        regions = self.regions[channel]
        gain = speech_gain(self.recording, regions)
        for region in regions:
            sound = self.recording.read(channel, region.start, region.stop)
            yield region, np.clip(sound * np.float32(gain), -1.0, 1.0)


def find_regions(
    recording: Recording,
    channel: int,
    *,
    on_searched: Callable[[int], None] = lambda samples: None,
) -> Iterator[Region]:
    """Yield the speech of a channel in order, reading two minutes of sound at a time.

    Speech that reaches the end of a window may continue after it, so the next window starts where
    that speech starts. `on_searched` gets the number of samples searched so far.
    """
    position, end = 0, recording.sample_count
    while position < end:
        sound = recording.read(channel, position, position + _WINDOW_SAMPLES)
        is_last = position + len(sound) >= end
        spans = [(span["start"], span["end"]) for span in get_speech_timestamps(sound, _VAD)]
        next_position = position + len(sound)
        if spans and not is_last and spans[-1][1] >= len(sound) and spans[-1][0] > 0:
            next_position = position + spans.pop()[0]
        for start, stop in spans:
            yield Region(channel, position + start, position + stop)
        position = next_position
        on_searched(position)


def speech_gain(recording: Recording, regions: list[Region]) -> float:
    """Return the factor that amplifies the loud speech of a channel to the common level."""
    levels = [_frame_levels(recording.read(r.channel, r.start, r.stop)) for r in regions]
    loud = float(np.percentile(np.concatenate(levels), _LEVEL_PERCENTILE)) if levels else 0.0
    return min(_MAX_GAIN, _TARGET_LEVEL / loud) if loud > 0 else 1.0


def _frame_levels(sound: Sound) -> NDArray[np.float64]:
    whole = sound[: len(sound) // _LEVEL_FRAME_SAMPLES * _LEVEL_FRAME_SAMPLES]
    frames = whole.reshape(-1, _LEVEL_FRAME_SAMPLES).astype(np.float64)
    return np.asarray(np.sqrt(np.mean(frames * frames, axis=1)))
