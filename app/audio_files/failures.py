"""Why the work on a recording ended badly: one word for the recording, one for its evaluation."""

from dataclasses import dataclass

from app.ai.speech.errors import (
    ModelMissing,
    ProviderUnavailable,
    TranscriptionError,
    UnsupportedLanguage,
)
from app.core.jobs.runner import Interrupted
from app.evaluations.enums import ErrorCode


@dataclass(frozen=True, slots=True)
class Failure:
    """`code` is the recording's, `evaluation_code` the evaluation's; the message is for both."""

    code: str
    message: str
    evaluation_code: ErrorCode
    retryable: bool = False


BYTES_MISSING = Failure(
    "BYTES_MISSING", "The bytes of the recording are gone.", ErrorCode.TRANSCRIPTION_FAILED
)
EMPTY_TRANSCRIPT = Failure(
    ErrorCode.EMPTY_TRANSCRIPT,
    "No speech was found in the recording.",
    ErrorCode.EMPTY_TRANSCRIPT,
)
INTERRUPTED = Failure(
    "INTERRUPTED",
    "The work on this recording was cut off too often; ask for it again.",
    ErrorCode.INTERNAL,
)
SCORECARD_GONE = Failure(
    "SCORECARD_GONE",
    "The version of the scorecard is no longer kept; ask for the work again.",
    ErrorCode.INTERNAL,
)
INTERNAL = Failure(
    ErrorCode.INTERNAL,
    "The work on this recording failed on our side.",
    ErrorCode.INTERNAL,
    retryable=True,
)


def of(error: Exception) -> Failure:
    """Tell what it means for a recording that the work on it ended in this way."""
    if isinstance(error, TranscriptionError):
        return _of_transcription(error)
    return INTERRUPTED if isinstance(error, Interrupted) else INTERNAL


def _of_transcription(error: TranscriptionError) -> Failure:
    code = ErrorCode.TRANSCRIPTION_FAILED
    if isinstance(error, UnsupportedLanguage):
        code = ErrorCode.UNSUPPORTED_LANGUAGE
    if isinstance(error, ModelMissing | ProviderUnavailable):
        code = ErrorCode.ENGINE_UNAVAILABLE
    return Failure(error.code.upper(), error.message, code, retryable=error.retryable)
