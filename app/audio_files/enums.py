"""Enumerations of audio files."""

from enum import StrEnum

from app.core.enums import LabelledEnum


class AudioStatus(LabelledEnum):
    """Status of a recording, from the reserved upload to the evaluation."""

    PENDING_UPLOAD = "pending_upload", "Waiting for the file"
    UPLOADED = "uploaded", "Uploaded"
    QUEUED = "queued", "Waiting"
    TRANSCRIBING = "transcribing", "Being transcribed"
    TRANSCRIBED = "transcribed", "Transcribed"
    EVALUATING = "evaluating", "Being judged"
    PROCESSED = "processed", "Judged"
    FAILED = "failed", "Failed"
    EXPIRED = "expired", "The file never came"


ENDED = (AudioStatus.PROCESSED, AudioStatus.FAILED, AudioStatus.EXPIRED)


class Stage(StrEnum):
    UPLOAD = "upload"
    DECODE = "decode"
    TRANSCRIBE = "transcribe"
    REDACT = "redact"
    EVALUATE = "evaluate"
    NOTIFY = "notify"


class StageStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class ContentType(StrEnum):
    """Content types that an upload may declare."""

    WAV = "audio/wav"
    MPEG = "audio/mpeg"
    MP4 = "audio/mp4"
    OGG = "audio/ogg"
    FLAC = "audio/flac"
    WEBM = "audio/webm"
