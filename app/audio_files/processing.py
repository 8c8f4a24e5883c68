"""Asking for the work on a recording: one open job at a time, and what each status allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files import stages
from app.audio_files.models import AudioFile, AudioStatus, ProcessingJob
from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.core.jobs.leases import OPEN_STATES
from app.core.queue import Bell
from app.evaluations import references
from app.evaluations import service as evaluations
from app.evaluations.enums import Channel, SourceType
from app.evaluations.erasure import require_kept
from app.evaluations.transcripts import store as transcripts

QUEUE = "audio"
PRIORITIES = {"normal": 0, "high": 1}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asks of the work; None leaves a value as the recording has it."""

    language: str | None = None
    scorecard_id: str | None = None
    channel_map: Mapping[str, int] | None = None
    redact: bool | None = None
    force: bool = False
    priority: str = "normal"


def bell(job_id: str) -> Bell:
    """Return the bell that tells a worker of a job."""
    return Bell(QUEUE, job_id)


def request(
    session: Session,
    audio_file_id: str,
    wish: Wish | None = None,
    *,
    redact_by_default: bool,
) -> tuple[AudioFile, ProcessingJob]:
    """Queue the work on a recording; while a job is open, that one is the answer.

    Raises:
        NotFound: there is no such recording.
        Conflict: there are no bytes, or it was processed and `force` is not set.
        InvalidInput: the wish names what is not there.
    """
    wish = wish or Wish()
    audio = session.get(AudioFile, audio_file_id, with_for_update=True)
    if audio is None:
        raise NotFound("There is no such audio file.")
    require_kept(audio.erased_at)
    running = open_job(session, audio_file_id)
    if running is not None:
        return audio, running
    _require_ready(audio, wish)
    redact = redact_by_default if wish.redact is None else wish.redact
    job = _queue(session, audio, wish, redact=redact)
    ring_after_commit(session, bell(job.id))
    return audio, job


def open_job(session: Session, audio_file_id: str) -> ProcessingJob | None:
    """Return the job of a recording that waits or runs."""
    return session.scalar(
        select(ProcessingJob).where(
            ProcessingJob.audio_file_id == audio_file_id, ProcessingJob.state.in_(OPEN_STATES)
        )
    )


def latest_job(session: Session, audio_file_id: str) -> ProcessingJob | None:
    """Return the newest job of a recording."""
    return session.scalar(
        select(ProcessingJob)
        .where(ProcessingJob.audio_file_id == audio_file_id)
        .order_by(ProcessingJob.queued_at.desc(), ProcessingJob.id.desc())
        .limit(1)
    )


def _require_ready(audio: AudioFile, wish: Wish) -> None:
    if audio.status in (AudioStatus.PENDING_UPLOAD, AudioStatus.EXPIRED):
        raise Conflict(f"There is nothing to process: the upload is {audio.status}.")
    if audio.status == AudioStatus.PROCESSED and not wish.force:
        raise Conflict("This was processed; set force to judge it anew.")


def _queue(session: Session, audio: AudioFile, wish: Wish, *, redact: bool) -> ProcessingJob:
    now = utc_now()
    scorecard = references.scorecard_for(
        session,
        scorecard_id=wish.scorecard_id,
        campaign_id=audio.campaign_id,
        channel=Channel.VOICE,
    )
    said_anew = _take_over(audio, wish)
    evaluation = evaluations.open_evaluation(
        session,
        **references.named(session, audio),
        **_source(audio),
        scorecard_id=scorecard.id,
        scorecard_version=scorecard.version,
        scorecard_name=scorecard.name,
    )
    job = ProcessingJob(
        id=new_id("job"),
        audio_file_id=audio.id,
        evaluation_id=evaluation.id,
        scorecard_id=scorecard.id,
        scorecard_version=scorecard.version,
        priority=PRIORITIES[wish.priority],
        transcribe=said_anew or not _is_kept(session, audio, redacted=redact),
        redact=redact,
        stage=stages.Stage.UPLOAD,
        stages=stages.fresh(audio.uploaded_at),
        due_at=now,
        queued_at=now,
    )
    session.add(job)
    audio.status = AudioStatus.QUEUED
    audio.error = None
    audio.updated_at = now
    session.flush()
    return job


def _take_over(audio: AudioFile, wish: Wish) -> bool:
    """Keep what the wish says of the recording; tell whether it changes what would be heard."""
    changed = False
    if wish.language is not None and wish.language != audio.language:
        audio.language, changed = wish.language, True
    if wish.channel_map is not None and wish.channel_map != audio.channel_map:
        audio.channel_map, changed = dict(wish.channel_map), True
    return changed


def _is_kept(session: Session, audio: AudioFile, *, redacted: bool) -> bool:
    """Whether there is a transcript, masked or unmasked as it is wanted."""
    kept = transcripts.find(session, source_type=SourceType.AUDIO_FILE, source_id=audio.id)
    return kept is not None and kept.redacted == redacted


def _source(audio: AudioFile) -> dict[str, Any]:
    return {
        "source_type": SourceType.AUDIO_FILE,
        "source_id": audio.id,
        "channel": Channel.VOICE,
        "language": audio.language,
        "direction": audio.direction,
        "started_at": audio.recorded_at,
        "duration_seconds": audio.duration_seconds,
        "external_id": audio.external_id,
        "labels": audio.labels,
    }
