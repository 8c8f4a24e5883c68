"""Enumerations of audio files."""

from enum import StrEnum


class AudioStatus(StrEnum):
    """Status of a recording, from the reserved upload to the evaluation."""

    PENDING_UPLOAD = "pending_upload"
    UPLOADED = "uploaded"
    QUEUED = "queued"
    TRANSCRIBING = "transcribing"
    TRANSCRIBED = "transcribed"
    EVALUATING = "evaluating"
    PROCESSED = "processed"
    FAILED = "failed"
    EXPIRED = "expired"


ENDED = (AudioStatus.PROCESSED, AudioStatus.FAILED, AudioStatus.EXPIRED)


class Stage(StrEnum):
    """Stages of processing, in order."""

    UPLOAD = "upload"
    DECODE = "decode"
    TRANSCRIBE = "transcribe"
    REDACT = "redact"
    EVALUATE = "evaluate"
    NOTIFY = "notify"


class StageStatus(StrEnum):
    """Status of one stage."""

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
