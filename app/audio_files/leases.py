"""Leases on recordings: the shared leases, with the stages that a recording shows."""

from contextlib import suppress
from datetime import datetime

from sqlalchemy.orm import Session

from app.audio_files import stages
from app.audio_files.models import AudioFile, AudioStatus, ProcessingJob
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.evaluations import service as evaluations
from app.evaluations.enums import Status


def claim(session: Session, job_id: str) -> Lease[ProcessingJob] | None:
    """Take the job, or another that is due (see `core.leases.claim`)."""
    lease = leases.claim(session, ProcessingJob, job_id)
    if lease is not None:
        job = leases.held(session, lease)
        job.stages = stages.waiting(job.stages)
    return lease


def release(session: Session, lease: Lease[ProcessingJob], due_at: datetime, counts: bool) -> None:
    """Return the job to its queue (see `core.jobs.leases.release`)."""
    job = leases.release(session, lease, due_at, counts)
    job.progress = 0 if job.transcribe else stages.BEGINS_AT[stages.Stage.EVALUATE]
    job.stages = stages.waiting(job.stages)
    audio = session.get_one(AudioFile, job.audio_file_id)
    audio.status = AudioStatus.QUEUED
    # One that was canceled meanwhile, or is gone, is for the next attempt to find.
    with suppress(Conflict, NotFound):
        evaluations.set_status(session, job.evaluation_id, Status.QUEUED)
