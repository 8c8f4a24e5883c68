"""Interface of recognisers: from the speech of a recording to utterances with times."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.errors import TranscriptionStopped
from app.ai.speech.recording import Recording, Sound
from app.ai.speech.speech_regions import Region, amplify, speech_gain
from app.ai.speech.transcriber import TranscriptionOptions
from app.ai.transcript import Word

# Above this, hold music became "Thank you."; no spoken segment of the measured calls was above.
_NO_SPEECH = 0.5
# Text that compresses better than this repeats itself: the model is in a loop.
LOOP_RATIO = 2.4


@dataclass(frozen=True, slots=True)
class Utterance:
    """About a sentence on one channel; times in ms from the start of the recording.

    `confidence` is None where the model gives none.
    """

    channel: int
    start_ms: int
    end_ms: int
    text: str
    confidence: float | None
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Speech:
    """The speech of a recording: the regions of each channel, in order."""

    recording: Recording
    regions: Mapping[int, list[Region]]

    @property
    def samples(self) -> int:
        """The length of all regions together."""
        return sum(region.length for regions in self.regions.values() for region in regions)

    @property
    def ms(self) -> int:
        """The length of all regions together in ms."""
        return self.samples * 1000 // SAMPLE_RATE_HZ

    @property
    def longest_region(self) -> Region | None:
        """The longest region of any channel."""
        regions = (region for of_channel in self.regions.values() for region in of_channel)
        return max(regions, key=lambda region: region.length, default=None)

    def amplified(self, channel: int) -> Iterator[tuple[Region, Sound]]:
        """Yield each region of a channel with its sound, raised to the common level."""
        regions = self.regions[channel]
        gain = speech_gain(self.recording, regions)
        for region in regions:
            yield region, amplify(self.recording.read(channel, region.start, region.stop), gain)


@dataclass(slots=True)
class Run:
    """One transcription: its options, and the caller's callbacks for progress and stopping."""

    options: TranscriptionOptions
    progress: Callable[[float], None]
    should_stop: Callable[[], bool]
    _reached: float = 0.0

    def advance(self, share: float) -> None:
        """Report progress, which never decreases; raise `TranscriptionStopped` on request."""
        if self.should_stop():
            raise TranscriptionStopped
        self._reached = max(self._reached, min(1.0, share))
        self.progress(self._reached)


@dataclass(frozen=True, slots=True)
class Recognition:
    """The utterances of a recording, their language, and the model that recognised them.

    `language` is None if it is not known; `model_digest` is empty if the model is elsewhere.
    """

    utterances: tuple[Utterance, ...]
    language: str | None
    provider: str
    model: str
    model_digest: str = ""
    warnings: tuple[str, ...] = ()


class Recogniser(Protocol):
    """Recognises the words of speech."""

    def require_available(self) -> None:
        """Raise `ServiceUnavailable` if it is known that nothing can be recognised right now."""

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region.

        Args:
            on_done: called with the number of samples that were recognised so far.

        Raises:
            TranscriptionError: its `code` names the reason.
            ServiceUnavailable: nothing can be recognised right now; the recording is not to blame.
        """


def language_code(tag: str) -> str:
    """Reduce a tag such as en-GB to its language."""
    return tag.replace("_", "-").partition("-")[0].lower()


def is_speech(no_speech_probability: float, compression_ratio: float) -> bool:
    """Whether a model that reports these figures recognised words, not noise or its own loop."""
    return no_speech_probability <= _NO_SPEECH and compression_ratio <= LOOP_RATIO
