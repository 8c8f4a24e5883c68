"""Joined speech: the speech of one channel in few files, whose times lead back to the recording.

Silence is not sent: many models invent words in it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.ai.speech.decoding.output import SAMPLE_BYTES, SAMPLE_RATE_HZ
from app.ai.speech.recogniser import Speech
from app.ai.speech.recording import Sound
from app.ai.speech.remote.access import wav_of
from app.ai.speech.speech_regions import Region

# 19 MB as WAV; hosted servers take 25 MB.
_MOST_SAMPLES = 600 * SAMPLE_RATE_HZ
# Two turns that touch would be read as one sentence.
_PAUSE_SAMPLES = SAMPLE_RATE_HZ // 2
_PAUSE = bytes(_PAUSE_SAMPLES * SAMPLE_BYTES)
_FULL_SCALE = 32767


@dataclass(slots=True)
class JoinedSpeech:
    """Regions of one channel, one after the other with short pauses.

    `starts` are the samples of the joined sound at which the regions begin.
    """

    channel: int
    regions: list[Region] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    samples: list[bytes] = field(default_factory=list)

    def add(self, region: Region, sound: Sound) -> None:
        """Append a region and the pause after it."""
        self.starts.append(self.length)
        self.regions.append(region)
        self.samples += [(sound * _FULL_SCALE).astype("<i2").tobytes(), _PAUSE]

    @property
    def length(self) -> int:
        """Number of samples, pauses included."""
        return self.starts[-1] + self.regions[-1].length + _PAUSE_SAMPLES if self.starts else 0

    def wav(self) -> bytes:
        """Return the sound as a WAV file."""
        return wav_of(b"".join(self.samples))

    def region_at(self, seconds: float) -> int:
        """Return the index of the region at this time; a pause belongs to the region before it."""
        return max(0, bisect_right(self.starts, seconds * SAMPLE_RATE_HZ) - 1)

    def start_ms(self, seconds: float) -> int:
        """Return when something that starts here starts in the recording: after any pause."""
        index = self.region_at(seconds)
        inside = seconds * SAMPLE_RATE_HZ - self.starts[index]
        if inside >= self.regions[index].length and index + 1 < len(self.regions):
            index, inside = index + 1, 0
        return self._clock_ms(index, inside)

    def end_ms(self, seconds: float) -> int:
        """Return when something that ends here ends in the recording: before any pause."""
        index = max(0, bisect_left(self.starts, seconds * SAMPLE_RATE_HZ) - 1)
        return self.clock_ms(seconds, index)

    def clock_ms(self, seconds: float, index: int) -> int:
        """Return the time in the recording, within the region of this index."""
        return self._clock_ms(index, seconds * SAMPLE_RATE_HZ - self.starts[index])

    def _clock_ms(self, index: int, inside: float) -> int:
        region = self.regions[index]
        sample = region.start + min(max(0, inside), region.length)
        return round(sample * 1000 / SAMPLE_RATE_HZ)


def joined(speech: Speech) -> Iterator[JoinedSpeech]:
    """Yield the speech of each channel, in parts of at most ten minutes."""
    for channel in speech.regions:
        part = JoinedSpeech(channel)
        for region, sound in speech.amplified(channel):
            if part.regions and part.length + region.length > _MOST_SAMPLES:
                yield part
                part = JoinedSpeech(channel)
            part.add(region, sound)
        if part.regions:
            yield part
