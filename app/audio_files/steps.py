"""What each step of the work writes, in one short transaction each; a late holder writes nothing."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.ai.judge import Judgement
from app.ai.speech.transcriber import TranscriptionOptions
from app.ai.transcript import AudioInfo, Role, Transcript
from app.audio_files import stages
from app.audio_files.failures import Failure
from app.audio_files.models import AudioFile, AudioStatus, ProcessingJob
from app.audio_files.stages import Stage
from app.campaigns import service as campaigns
from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease, end
from app.evaluations import service as evaluations
from app.evaluations.enums import SourceType, Status
from app.evaluations.transcripts import store as transcripts
from app.events.catalogue import EventType
from app.events.outbox import publish
from app.events.payloads import AudioProcessed, AudioTranscribed
from app.redaction import raw_texts
from app.redaction.redactor import Sealed


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done, read once: then no transaction is open while it is done."""

    audio_file_id: str
    evaluation_id: str
    transcribe: bool
    redact: bool
    options: TranscriptionOptions
    scorecard_id: str
    scorecard_version: int


def begin(session: Session, lease: Lease[ProcessingJob], *, max_duration_s: float) -> Task:
    """Enter the first stage that is not done yet."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    if job.transcribe:
        _enter(audio, AudioStatus.TRANSCRIBING)
        _stage(job, Stage.DECODE)
        evaluations.set_status(session, job.evaluation_id, Status.TRANSCRIBING)
    options = TranscriptionOptions(
        language=audio.language,
        channel_roles=_roles(audio.channel_map),
        content_type=audio.content_type,
        max_duration_s=max_duration_s,
    )
    return Task(
        job.audio_file_id,
        job.evaluation_id,
        job.transcribe,
        job.redact,
        options,
        job.scorecard_id,
        job.scorecard_version,
    )


def decoded(session: Session, lease: Lease[ProcessingJob], info: AudioInfo) -> None:
    """Keep what decoding has shown."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    audio.duration_seconds = _seconds(info.duration_ms)
    audio.sample_rate_hz, audio.channels = info.sample_rate_hz, info.channels
    audio.codec = info.codec
    audio.updated_at = utc_now()
    job.stages = stages.done(job.stages, Stage.DECODE, utc_now())
    _stage(job, Stage.TRANSCRIBE)


def transcribed(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, raw: Sealed | None
) -> None:
    """Store the transcript and announce it; from here on nothing is transcribed again.

    Args:
        raw: what was masked in the transcript.
    """
    audio = _heard(session, lease, transcript, raw)
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


def no_speech(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, failure: Failure
) -> None:
    """Store the transcript without words, and end: nothing is announced."""
    _heard(session, lease, transcript, None)
    failed(session, lease, failure)


def evaluating(session: Session, lease: Lease[ProcessingJob]) -> None:
    """Enter the judgement."""
    job = leases.held(session, lease)
    if not job.transcribe and job.stages[Stage.TRANSCRIBE]["status"] != stages.DONE:
        job.stages = stages.skipped(job.stages, Stage.DECODE, Stage.TRANSCRIBE, Stage.REDACT)
    _enter(session.get_one(AudioFile, job.audio_file_id), AudioStatus.EVALUATING)
    _stage(job, Stage.EVALUATE)
    evaluations.set_status(session, job.evaluation_id, Status.EVALUATING)


def processed(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, judgement: Judgement
) -> None:
    """Complete the evaluation and the recording, and announce both, in this order.

    A judgement without a score fails both, and nothing is announced.
    """
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    evaluation = evaluations.complete(
        session,
        job.evaluation_id,
        judgement=judgement,
        language=transcript.language,
        duration_seconds=audio.duration_seconds,
        turn_count=len(transcript.segments),
    )
    if evaluation.score is None:
        _fail(job, audio, evaluation.error or {})
        return
    _enter(audio, AudioStatus.PROCESSED)
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
    judged = stages.done(job.stages, Stage.EVALUATE, now)
    job.stages = stages.done(stages.begun(judged, Stage.NOTIFY, now), Stage.NOTIFY, now)
    job.stage, job.progress = Stage.NOTIFY, 100
    end(job, JobState.SUCCEEDED, now)


def failed(session: Session, lease: Lease[ProcessingJob], failure: Failure) -> None:
    """End the work and its evaluation; what an earlier evaluation has found stays."""
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    _fail(job, audio, {"code": str(failure.code), "message": failure.message})
    # One that was canceled meanwhile, or is gone, must not keep the recording from its end.
    with suppress(Conflict, NotFound):
        evaluations.fail(
            session, job.evaluation_id, code=failure.evaluation_code, message=failure.message
        )


def _fail(job: ProcessingJob, audio: AudioFile, error: dict[str, str]) -> None:
    _enter(audio, AudioStatus.FAILED)
    audio.error = job.error = error
    job.stages = stages.failed(job.stages, Stage(job.stage), error, audio.updated_at)
    end(job, JobState.FAILED, audio.updated_at)


def _heard(
    session: Session, lease: Lease[ProcessingJob], transcript: Transcript, raw: Sealed | None
) -> AudioFile:
    job = leases.held(session, lease)
    audio = session.get_one(AudioFile, job.audio_file_id)
    transcripts.store_transcript(
        session,
        source_type=SourceType.AUDIO_FILE,
        source_id=audio.id,
        transcript=transcript,
        raw_text_id=raw_texts.store(session, audio.id, raw),
    )
    audio.has_transcript = True
    audio.detected_language = transcript.language
    if transcript.duration_ms is not None:
        audio.duration_seconds = _seconds(transcript.duration_ms)
    _enter(audio, AudioStatus.TRANSCRIBED)
    now = audio.updated_at
    job.transcribe = False
    heard = stages.done(job.stages, Stage.TRANSCRIBE, now)
    if transcript.redacted:
        masked = stages.begun(heard, Stage.REDACT, now)
        job.stages = stages.done(masked, Stage.REDACT, now)
    else:
        job.stages = stages.skipped(heard, Stage.REDACT)
    job.progress = stages.BEGINS_AT[Stage.EVALUATE]
    return audio


def _enter(audio: AudioFile, status: AudioStatus) -> None:
    audio.status = status
    audio.updated_at = utc_now()


def _stage(job: ProcessingJob, stage: Stage) -> None:
    job.stage = stage
    job.progress = stages.BEGINS_AT[stage]
    job.stages = stages.begun(job.stages, stage, utc_now())


def _roles(channel_map: Mapping[str, int] | None) -> dict[int, Role]:
    chosen = channel_map or {"agent": 0, "customer": 1}
    return {channel: Role(role) for role, channel in chosen.items()}


def _seconds(milliseconds: int) -> int:
    return (milliseconds + 500) // 1000
