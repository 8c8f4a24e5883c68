"""Requests to process recordings: one open job each, depending on the status."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus, Stage
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing import stages
from app.core.clock import utc_now
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.jobs.leases import OPEN_STATES
from app.core.queue import Bell
from app.evaluations import service as evaluations
from app.evaluations import sources, transcripts
from app.evaluations.enums import Channel, SourceType
from app.evaluations.erasure import require_kept
from app.evaluations.models import Evaluation
from app.transcript import Role

QUEUE = "audio"
bell = partial(Bell, QUEUE)
PRIORITIES = {"normal": 0, "high": 1}


@dataclass(frozen=True, slots=True)
class ProcessingRequest:
    """Options of a processing request; None keeps the value of the recording."""

    language: str | None = None
    scorecard_id: str | None = None
    channel_map: Mapping[str, int] | None = None
    redact: bool | None = None
    force: bool = False
    priority: str = "normal"


def request_processing(
    session: Session,
    audio_file_id: str,
    options: ProcessingRequest | None = None,
    *,
    redact_by_default: bool,
) -> tuple[AudioFile, ProcessingJob]:
    """Queue the processing of a recording; if a job is open already, return that one.

    Raises:
        NotFound: there is no such recording.
        Conflict: it was not uploaded, or it was processed and `force` is not set.
        InvalidInput: the scorecard does not exist or is for another channel.
    """
    options = options or ProcessingRequest()
    audio = find_row(session, AudioFile, audio_file_id, "audio file", for_update=True)
    require_kept(audio.erased_at)
    job = open_job(session, audio_file_id)
    if job is not None:
        return audio, job
    if audio.uploaded_at is None:
        raise Conflict(f"There is nothing to process: the upload is {audio.status}.")
    if audio.status == AudioStatus.PROCESSED and not options.force:
        raise Conflict("This recording has been processed: set force to process it again.")
    redact = redact_by_default if options.redact is None else options.redact
    job = _queue(session, audio, options, redact=redact)
    ring_after_commit(session, bell(job.id))
    return audio, job


def open_job(session: Session, audio_file_id: str) -> ProcessingJob | None:
    return session.scalar(
        select(ProcessingJob).where(
            ProcessingJob.audio_file_id == audio_file_id, ProcessingJob.state.in_(OPEN_STATES)
        )
    )


def shown_job(audio: AudioFile, job: ProcessingJob, *, status_url: str) -> dict[str, Any]:
    return {
        "audio_file_id": audio.id,
        "job_id": job.id,
        "status": audio.status,
        "queued_at": job.queued_at,
        "status_url": status_url,
    }


def _queue(
    session: Session, audio: AudioFile, options: ProcessingRequest, *, redact: bool
) -> ProcessingJob:
    now = utc_now()
    scorecard = sources.scorecard_for(
        session,
        scorecard_id=options.scorecard_id,
        campaign_id=audio.campaign_id,
        channel=Channel.VOICE,
    )
    transcribe = _must_transcribe(session, audio, options, redact=redact)
    if transcribe and audio.original_deleted_at is not None:
        raise Conflict("The original sound was deleted, so that it cannot be transcribed again.")
    [names] = sources.named(session, [audio])
    evaluation = Evaluation(
        **names,
        source_type=SourceType.AUDIO_FILE,
        source_id=audio.id,
        channel=Channel.VOICE,
        language=audio.language,
        direction=audio.direction,
        started_at=audio.recorded_at,
        conversation_at=audio.conversation_at,
        duration_seconds=audio.duration_seconds,
        external_id=audio.external_id,
        labels=audio.labels,
    )
    evaluations.open_evaluation(session, evaluation, scorecard)
    job = ProcessingJob(
        id=new_id("job"),
        audio_file_id=audio.id,
        evaluation_id=evaluation.id,
        scorecard_id=scorecard.id,
        scorecard_version=scorecard.version,
        priority=PRIORITIES[options.priority],
        transcribe=transcribe,
        redact=redact,
        stage=Stage.UPLOAD,
        stages=stages.initial(audio.uploaded_at),
    )
    session.add(job)
    audio.status = AudioStatus.QUEUED
    audio.error = None
    audio.updated_at = now
    session.flush()
    return job


def roles_of(channel_map: Mapping[str, int] | None) -> dict[int, Role]:
    """Return the roles by channel or number of the voice; without a map the agent is on the left."""
    channels = channel_map or {"agent": 0, "customer": 1}
    return {channel: Role(role) for role, channel in channels.items()}


def request_again(
    session: Session,
    evaluation: Evaluation,
    *,
    channel_map: Mapping[str, int] | None = None,
    redact_by_default: bool,
) -> str:
    """Queue the next revision of a recording's evaluation, on the scorecard and masked as before.

    Returns the id of the new evaluation. Raises as `request_processing` does, and `Conflict` for a
    channel map while the recording is being processed.
    """
    if channel_map and open_job(session, evaluation.source_id) is not None:
        raise Conflict("This recording is being processed: try again when that has ended.")
    redact = session.scalar(
        select(ProcessingJob.redact)
        .where(ProcessingJob.audio_file_id == evaluation.source_id)
        .order_by(ProcessingJob.queued_at.desc(), ProcessingJob.id.desc())
        .limit(1)
    )
    options = ProcessingRequest(
        scorecard_id=evaluation.scorecard_id, channel_map=channel_map, redact=redact, force=True
    )
    _, job = request_processing(
        session, evaluation.source_id, options, redact_by_default=redact_by_default
    )
    return job.evaluation_id


def _must_transcribe(
    session: Session, audio: AudioFile, options: ProcessingRequest, *, redact: bool
) -> bool:
    """Update the recording with the options; return whether it must be transcribed again.

    Other roles of the same voices are written into a copy of the transcript.
    """
    is_renamed = options.channel_map is not None and options.channel_map != audio.channel_map
    if is_renamed:
        audio.channel_map = dict(options.channel_map or {})
    if options.language is not None and options.language != audio.language:
        audio.language = options.language
        return True
    row = transcripts.find(
        session, source_type=SourceType.AUDIO_FILE, source_id=audio.id, with_text=is_renamed
    )
    # What is masked or unmasked otherwise than requested is transcribed again.
    if row is None or row.redacted != redact:
        return True
    if not is_renamed:
        return False
    renamed = transcripts.with_roles(row, roles_of(audio.channel_map))
    if renamed is None:
        return True
    transcripts.store(session, renamed)
    return False
