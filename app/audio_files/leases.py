"""Who works on which recording: the house's leases, with the stages that a recording shows."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.audio_files import stages
from app.audio_files.models import AudioFile, AudioStatus, ProcessingJob
from app.core import leases
from app.core.errors import Conflict, NotFound
from app.evaluations import service as evaluations
from app.evaluations.vocabulary import Status


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that this process works on as long as the token is the row's; `attempt` is from 1."""

    job_id: str
    audio_file_id: str
    evaluation_id: str
    token: str
    attempt: int


def due(session: Session, now: datetime) -> list[ProcessingJob]:
    """List the jobs that may be worked on now (see `core.leases.due`)."""
    return leases.due(session, ProcessingJob, now)


def claim(session: Session, job_id: str, *, now: datetime) -> Claim | None:
    """Take the job, or another that is due (see `core.leases.claim`)."""
    job = leases.claim(session, ProcessingJob, job_id, now=now)
    if job is None or job.lease_token is None:
        return None
    job.stages = stages.waiting(job.stages)
    session.flush()
    return Claim(job.id, job.audio_file_id, job.evaluation_id, job.lease_token, job.attempts)


def renew(session: Session, claim: Claim) -> bool:
    """Keep the lease alive; False when it was lost."""
    return leases.renew(session, ProcessingJob, claim.job_id, claim.token)


def note_progress(session: Session, claim: Claim, percent: int) -> bool:
    """Tell how far the work is; False when the lease was lost."""
    return leases.note(session, ProcessingJob, claim.job_id, claim.token, progress=percent)


def held(session: Session, claim: Claim) -> ProcessingJob:
    """Return the claimed job, locked; `LeaseLost` when it is another's."""
    return leases.held(session, ProcessingJob, claim.job_id, claim.token)


def hand_back(session: Session, claim: Claim, *, due_at: datetime, counts: bool) -> None:
    """Put the job down so that it is taken up again (see `core.leases.put_down`)."""
    job = held(session, claim)
    leases.put_down(job, due_at=due_at, counts=counts)
    job.progress = 0 if job.transcribe else stages.BEGINS_AT[stages.Stage.EVALUATE]
    job.stages = stages.waiting(job.stages)
    audio = session.get_one(AudioFile, claim.audio_file_id)
    audio.status = AudioStatus.QUEUED
    # One that was canceled meanwhile, or is gone, is for the next attempt to find.
    with suppress(Conflict, NotFound):
        evaluations.set_status(session, claim.evaluation_id, Status.QUEUED)
