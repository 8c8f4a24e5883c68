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

    @property
    def error(self) -> dict[str, str]:
        """The error that the API shows."""
        return {"code": str(self.code), "message": self.message}


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
UPLOAD_MISMATCH = Failure(
    "UPLOAD_MISMATCH",
    "The uploaded file does not have the announced size or SHA-256: upload the recording again.",
    FailureCode.TRANSCRIPTION_FAILED,
)
INTERNAL = Failure(
    FailureCode.INTERNAL,
    "The processing of this recording failed because of an internal error.",
    FailureCode.INTERNAL,
    retryable=True,
)


class ScorecardGone(Exception):
    """The requested version of the scorecard is no longer stored."""


class UploadMismatch(Exception):
    """The stored file has another SHA-256 than announced."""


def of(error: Exception) -> Failure:
    """Return the failure that an error of processing causes."""
    if isinstance(error, TranscriptionError):
        return _of_transcription(error)
    if isinstance(error, ScorecardGone):
        return SCORECARD_GONE
    if isinstance(error, UploadMismatch):
        return UPLOAD_MISMATCH
    return INTERRUPTED if isinstance(error, Interrupted) else INTERNAL


def _of_transcription(error: TranscriptionError) -> Failure:
    code = FailureCode.TRANSCRIPTION_FAILED
    if isinstance(error, UnsupportedLanguage):
        code = FailureCode.UNSUPPORTED_LANGUAGE
    if isinstance(error, ModelMissing | ProviderUnavailable):
        code = FailureCode.ENGINE_UNAVAILABLE
    return Failure(error.code.upper(), error.message, code, retryable=error.retryable)
