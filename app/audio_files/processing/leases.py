"""Leases of processing jobs: the shared leases, and the stages that the API shows."""

from contextlib import suppress
from datetime import datetime

from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus, Stage
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing import stages
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.evaluations import service as evaluations
from app.evaluations.enums import Status


def claim(session: Session, job_id: str) -> Lease[ProcessingJob] | None:
    """Claim the job, or another that is due (see `core.jobs.leases.claim`)."""
    lease = leases.claim(session, ProcessingJob, job_id)
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
