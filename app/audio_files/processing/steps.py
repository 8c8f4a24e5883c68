"""Steps of the processing of a recording, each one transaction, and the failures that end it.

Each step writes in one transaction, and only while the lease is held. A failure has a code for the
recording and one for its evaluation.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.audio_files import muting
from app.audio_files.enums import AudioStatus, Stage, StageStatus
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing import stages
from app.audio_files.processing.requests import roles_of
from app.campaigns import service as campaigns
from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease, end
from app.core.jobs.runner import Interrupted
from app.evaluations import service as evaluations
from app.evaluations import transcripts
from app.evaluations.enums import FailureCode, SourceType, Status
from app.evaluations.outcome import EvaluationCompletion
from app.events.catalogue import EventType
from app.events.data import AudioProcessed, AudioTranscribed
from app.events.outbox import publish
from app.judge.judge import Judgement
from app.redaction import raw_texts
from app.redaction.redactor import SealedOriginals
from app.speech.errors import (
    ModelMissing,
    ProviderUnavailable,
    TranscriptionError,
    UnsupportedLanguage,
)
from app.speech.transcriber import TranscriptionOptions
from app.transcript import AudioInfo, Transcript


@dataclass(frozen=True, slots=True)
class Failure:
    """Reason of a failure: `code` for the recording, `evaluation_code` for its evaluation."""

    code: str
    message: str
    evaluation_code: FailureCode
    retryable: bool = False

    @property
    def error(self) -> dict[str, str]:
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


class ProcessingFailed(Exception):
    """Processing cannot go on, for a known reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: Exception) -> Failure:
    if isinstance(error, TranscriptionError):
        return _of_transcription(error)
    if isinstance(error, ProcessingFailed):
        return error.failure
    return INTERRUPTED if isinstance(error, Interrupted) else INTERNAL


def _of_transcription(error: TranscriptionError) -> Failure:
    code = FailureCode.TRANSCRIPTION_FAILED
    if isinstance(error, UnsupportedLanguage):
        code = FailureCode.UNSUPPORTED_LANGUAGE
    if isinstance(error, ModelMissing | ProviderUnavailable):
        code = FailureCode.ENGINE_UNAVAILABLE
    return Failure(error.code.upper(), error.message, code, retryable=error.retryable)


@dataclass(frozen=True, slots=True)
class ProcessingTask:
    """Input of one processing, read in one transaction before it starts."""

    audio_file_id: str
    evaluation_id: str
    transcribe: bool
    redact: bool
    has_channel_map: bool
    options: TranscriptionOptions
    scorecard_id: str
    scorecard_version: int


def claim(session: Session, job_id: str) -> Lease[ProcessingJob] | None:
    """Claim the job, or another that is due (see `core.jobs.leases.claim`)."""
    lease = leases.claim(session, job_id, ProcessingJob)
    if lease is not None:
        job = leases.held(session, lease)
        job.stages = stages.reset_running(job.stages)
    return lease


def release(session: Session, lease: Lease[ProcessingJob], due_at: datetime, counts: bool) -> None:
    """Return the job to its queue (see `core.jobs.leases.release`)."""
    job = leases.release(session, lease, due_at, counts)
    job.progress = 0 if job.transcribe else stages.START_PERCENT[Stage.EVALUATE]
    job.stages = stages.reset_running(job.stages)
    audio = session.get_one(AudioFile, job.audio_file_id)
    audio.status = AudioStatus.QUEUED
    # If the evaluation was canceled or deleted meanwhile, the next attempt finds out.
    with suppress(Conflict, NotFound):
        evaluations.set_status(session, job.evaluation_id, Status.QUEUED)


def start(
    session: Session, lease: Lease[ProcessingJob], *, max_duration_s: float
) -> ProcessingTask:
    """Return the task, and start decoding; with a transcript, `start_evaluation` comes next."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    if job.transcribe:
        _set_status(audio, AudioStatus.TRANSCRIBING)
        _start_stage(job, Stage.DECODE)
        evaluations.set_status(session, job.evaluation_id, Status.TRANSCRIBING)
    options = TranscriptionOptions(
        language=audio.language,
        channel_roles=roles_of(audio.channel_map),
        voice_roles=roles_of(audio.channel_map) if audio.channel_map else {},
        content_type=audio.content_type,
        max_duration_s=max_duration_s,
    )
    return ProcessingTask(
        job.audio_file_id,
        job.evaluation_id,
        job.transcribe,
        job.redact,
        bool(audio.channel_map),
        options,
        job.scorecard_id,
        job.scorecard_version,
    )


def check_digest(session: Session, lease: Lease[ProcessingJob], sha256: str) -> None:
    """Store the SHA-256 of a file that went straight to the storage.

    Raises:
        ProcessingFailed: another one was announced.
    """
    audio = session.get_one(AudioFile, leases.held(session, lease).audio_file_id)
    if audio.sha256 is not None and audio.sha256.lower() != sha256:
        raise ProcessingFailed(UPLOAD_MISMATCH)
    audio.sha256 = sha256


def store_audio_info(session: Session, lease: Lease[ProcessingJob], info: AudioInfo) -> None:
    """Store the properties that decoding has found, and start transcription."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    audio.duration_seconds = _seconds(info.duration_ms)
    audio.sample_rate_hz, audio.channels = info.sample_rate_hz, info.channels
    audio.codec = info.codec
    audio.updated_at = utc_now()
    job.stages = stages.complete(job.stages, Stage.DECODE, utc_now())
    _start_stage(job, Stage.TRANSCRIBE)


def store_transcript(
    session: Session,
    lease: Lease[ProcessingJob],
    transcript: Transcript,
    originals: SealedOriginals | None,
) -> None:
    """Store the transcript and publish `audio.transcribed`; a later attempt only evaluates."""
    audio = _store_transcript(session, lease, transcript, originals)
    muting.request(session, audio.id)
    publish(
        session,
        EventType.AUDIO_TRANSCRIBED,
        AudioTranscribed(
            audio_file_id=audio.id,
            engagement_id=audio.engagement_id or "",
            campaign=campaigns.name_of(session, audio.campaign_id) or "",
            language=transcript.language,
            duration_seconds=audio.duration_seconds or 0,
            segment_count=len(transcript.segments),
            confidence=transcript.confidence,
        ),
    )


def fail_without_speech(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, failure: Failure
) -> None:
    """Store the empty transcript, without its event, and fail."""
    _store_transcript(session, lease, transcript, None)
    fail(session, lease, failure)


def start_evaluation(session: Session, lease: Lease[ProcessingJob]) -> None:
    job = leases.held(session, lease)
    if not job.transcribe and job.stages[Stage.TRANSCRIBE]["status"] != StageStatus.DONE:
        job.stages = stages.skip(job.stages, Stage.DECODE, Stage.TRANSCRIBE, Stage.REDACT)
    _set_status(session.get_one(AudioFile, job.audio_file_id), AudioStatus.EVALUATING)
    _start_stage(job, Stage.EVALUATE)
    evaluations.set_status(session, job.evaluation_id, Status.EVALUATING)


def complete(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, judgement: Judgement
) -> None:
    """Complete the evaluation, then the recording, and publish both events in this order.

    A judgement without a score fails both.
    """
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    evaluation = evaluations.find(session, job.evaluation_id)
    completion = EvaluationCompletion(
        evaluation,
        judgement,
        language=transcript.language,
        duration_seconds=audio.duration_seconds,
        turn_count=len(transcript.segments),
    )
    evaluations.complete(session, completion)
    if evaluation.score is None:
        _fail(job, audio, evaluation.error or {})
        return
    _set_status(audio, AudioStatus.PROCESSED)
    now = audio.processed_at = audio.updated_at
    publish(
        session,
        EventType.AUDIO_PROCESSED,
        AudioProcessed(
            audio_file_id=audio.id,
            evaluation_id=evaluation.id,
            engagement_id=audio.engagement_id or "",
            campaign=evaluation.campaign or "",
            score=evaluation.score,
            duration_seconds=audio.duration_seconds or 0,
        ),
    )
    records = stages.complete(job.stages, Stage.EVALUATE, now)
    records = stages.start(records, Stage.NOTIFY, now)
    job.stages = stages.complete(records, Stage.NOTIFY, now)
    job.stage, job.progress = Stage.NOTIFY, 100
    end(job, JobState.SUCCEEDED, now)


def fail(session: Session, lease: Lease[ProcessingJob], failure: Failure) -> None:
    """Fail the job and its evaluation; earlier evaluations are kept."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    _fail(job, audio, failure.error)
    # An evaluation that was canceled or deleted meanwhile must not keep the job open.
    with suppress(Conflict, NotFound):
        evaluations.fail(
            session, job.evaluation_id, code=failure.evaluation_code, message=failure.message
        )


def _fail(job: ProcessingJob, audio: AudioFile, error: dict[str, str]) -> None:
    _set_status(audio, AudioStatus.FAILED)
    audio.error = job.error = error
    job.stages = stages.fail(job.stages, Stage(job.stage), error, audio.updated_at)
    end(job, JobState.FAILED, audio.updated_at)


def _store_transcript(
    session: Session,
    lease: Lease[ProcessingJob],
    transcript: Transcript,
    originals: SealedOriginals | None,
) -> AudioFile:
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    raw_text_id = raw_texts.store(session, audio.id, originals)
    row = transcripts.row_of(SourceType.AUDIO_FILE, audio.id, transcript, raw_text_id)
    transcripts.store(session, row)
    audio.has_transcript = True
    audio.detected_language = transcript.language
    if transcript.duration_ms is not None:
        audio.duration_seconds = _seconds(transcript.duration_ms)
    _set_status(audio, AudioStatus.TRANSCRIBED)
    now = audio.updated_at
    job.transcribe = False
    records = stages.complete(job.stages, Stage.TRANSCRIBE, now)
    if transcript.redacted:
        records = stages.start(records, Stage.REDACT, now)
        job.stages = stages.complete(records, Stage.REDACT, now)
    else:
        job.stages = stages.skip(records, Stage.REDACT)
    job.progress = stages.START_PERCENT[Stage.EVALUATE]
    return audio


def _set_status(audio: AudioFile, status: AudioStatus) -> None:
    audio.status = status
    audio.updated_at = utc_now()


def _start_stage(job: ProcessingJob, stage: Stage) -> None:
    job.stage = stage
    job.progress = stages.START_PERCENT[stage]
    job.stages = stages.start(job.stages, stage, utc_now())


def _seconds(milliseconds: int) -> int:
    return (milliseconds + 500) // 1000
