"""Failures of recordings: a code for the recording and one for its evaluation."""

from dataclasses import dataclass

from app.ai.speech.errors import (
    ModelMissing,
    ProviderUnavailable,
    TranscriptionError,
    UnsupportedLanguage,
)
from app.core.jobs.runner import Interrupted
from app.evaluations.enums import FailureCode


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason of a failure: `code` for the recording, `evaluation_code` for its evaluation."""

    code: str
    message: str
    evaluation_code: FailureCode
    retryable: bool = False


BYTES_MISSING = Failure(
    "BYTES_MISSING",
    "The file of this recording is missing from the storage.",
    FailureCode.TRANSCRIPTION_FAILED,
)
EMPTY_TRANSCRIPT = Failure(
    FailureCode.EMPTY_TRANSCRIPT,
    "No speech was found in the recording.",
    FailureCode.EMPTY_TRANSCRIPT,
)
INTERRUPTED = Failure(
    "INTERRUPTED",
    "The processing of this recording was interrupted too often: request it again.",
    FailureCode.INTERNAL,
)
SCORECARD_GONE = Failure(
    "SCORECARD_GONE",
    "The version of the scorecard is no longer stored: request the processing again.",
    FailureCode.INTERNAL,
)
INTERNAL = Failure(
    FailureCode.INTERNAL,
    "The processing of this recording failed because of an internal error.",
    FailureCode.INTERNAL,
    retryable=True,
)


class ScorecardGone(Exception):
    """The requested version of the scorecard is no longer stored."""


def of(error: Exception) -> Failure:
    """Return the failure that an error of processing causes."""
    if isinstance(error, TranscriptionError):
        return _of_transcription(error)
    if isinstance(error, ScorecardGone):
        return SCORECARD_GONE
    return INTERRUPTED if isinstance(error, Interrupted) else INTERNAL


def _of_transcription(error: TranscriptionError) -> Failure:
    code = FailureCode.TRANSCRIPTION_FAILED
    if isinstance(error, UnsupportedLanguage):
        code = FailureCode.UNSUPPORTED_LANGUAGE
    if isinstance(error, ModelMissing | ProviderUnavailable):
        code = FailureCode.ENGINE_UNAVAILABLE
    return Failure(error.code.upper(), error.message, code, retryable=error.retryable)
