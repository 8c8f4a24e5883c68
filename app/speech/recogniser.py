"""Interface of recognisers: what they are asked, the utterances they return, and a fallback."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from app.speech.errors import (
    ModelMissing,
    ProviderUnavailable,
    ServerAway,
    TranscriptionStopped,
    UnsupportedLanguage,
)
from app.speech.speech_regions import Speech
from app.speech.transcriber import TranscriptionOptions
from app.transcript import Word

# Above this, hold music became "Thank you."; no spoken segment of the measured calls was above.
_NO_SPEECH = 0.5
# Up to here, sure words are speech: Whisper base has written a prompt with 0.51 and a log probability of
# -0.29, silence as "You" with 0.64 and -0.83, hold music with 0.75 and -0.52.
_PERHAPS_NO_SPEECH = 0.6
_SURE_LOG_PROBABILITY = -0.5
# Text that compresses better than this repeats itself: the model is in a loop.
LOOP_RATIO = 2.4
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Utterance:
    """About a sentence on one channel; times in ms from the start of the recording.

    `confidence` is None where the model gives none. `speaker` is the name that a server gives to a
    voice within the channel.
    """

    channel: int
    start_ms: int
    end_ms: int
    text: str
    confidence: float | None
    words: tuple[Word, ...]
    speaker: str | None = None


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


class FallbackRecogniser:
    """Has a recording recognised by the second recogniser if the first is away or fails.

    What the first refuses because of the recording stays refused.
    """

    def __init__(self, first: Recogniser, second: Recogniser) -> None:
        self._first = first
        self._second = second

    def require_available(self) -> None:
        """Raise what the second recogniser raises."""
        self._second.require_available()

    def recognise(self, speech: Speech, run: Run, *, on_done: Callable[[int], None]) -> Recognition:
        """Recognise the words of every region as `Recogniser.recognise` specifies."""
        try:
            return self._first.recognise(speech, run, on_done=on_done)
        except (ServerAway, ProviderUnavailable) as error:
            logger.warning("the local model transcribes instead: %s", error)
            try:
                recognition = self._second.recognise(speech, run, on_done=on_done)
            except (UnsupportedLanguage, ModelMissing) as unusable:
                raise error from unusable
        return replace(recognition, warnings=(*recognition.warnings, "fallback_model"))


def language_code(tag: str) -> str:
    """Reduce a tag such as en-GB to its language."""
    return tag.replace("_", "-").partition("-")[0].lower()


def is_speech(
    no_speech_probability: float, compression_ratio: float, log_probability: float | None
) -> bool:
    """Return whether these figures of a model mean words, not noise or its own loop."""
    is_sure = log_probability is not None and log_probability >= _SURE_LOG_PROBABILITY
    most = _PERHAPS_NO_SPEECH if is_sure else _NO_SPEECH
    return no_speech_probability <= most and compression_ratio <= LOOP_RATIO
