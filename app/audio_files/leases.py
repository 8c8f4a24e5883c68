"""Who works on which job: a claim with a lease, kept alive, handed back, or taken over."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.audio_files import stages
from app.audio_files.models import AudioFile, AudioStatus, JobState, ProcessingJob
from app.core.errors import Conflict, NotFound
from app.evaluations import service as evaluations
from app.evaluations.vocabulary import Status
from app.webhooks import owner

LEASE = timedelta(seconds=25)
RENEW_EVERY_S = 5.0


class LeaseLost(Exception):
    """The job is another's by now: its late holder may not write."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that this process works on as long as the token is the row's; `attempt` is from 1."""

    job_id: str
    audio_file_id: str
    evaluation_id: str
    token: str
    attempt: int


def due(session: Session, now: datetime, *, limit: int = 100) -> list[ProcessingJob]:
    """List the jobs that may be worked on now: those of high priority first, then the oldest.

    A running job is among them when its lease has run out, or its process is one of this host
    that has ended.
    """
    order = (ProcessingJob.priority.desc(), ProcessingJob.queued_at, ProcessingJob.id)
    of_state = ProcessingJob.state
    queued = session.scalars(
        select(ProcessingJob)
        .where(of_state == JobState.QUEUED, ProcessingJob.due_at <= now)
        .order_by(*order)
        .limit(limit)
    ).all()
    running = session.scalars(select(ProcessingJob).where(of_state == JobState.RUNNING))
    left = [job for job in running if _is_abandoned(job, now)]
    return sorted([*left, *queued], key=lambda job: (-job.priority, job.queued_at, job.id))[:limit]


def claim(session: Session, job_id: str, *, now: datetime) -> Claim | None:
    """Take the job, or a due one of higher priority, or the next due one when it is taken.

    None when there is nothing to do.
    """
    rows = due(session, now)
    if not rows:
        return None
    rung = [row for row in rows if row.id == job_id and row.priority == rows[0].priority]
    job = _locked(session, (rung or rows)[0])
    if job is None:
        return None
    job.state = JobState.RUNNING
    job.attempts += 1
    job.lease_token = uuid4().hex
    job.lease_owner = owner.this_process()
    job.lease_until = now + LEASE
    job.started_at = job.started_at or now
    job.stages = stages.waiting(job.stages)
    session.flush()
    return Claim(job.id, job.audio_file_id, job.evaluation_id, job.lease_token, job.attempts)


def renew(session: Session, claim: Claim, now: datetime) -> bool:
    """Keep the lease alive; False when it was lost."""
    return _update(session, claim, lease_until=now + LEASE)


def note_progress(session: Session, claim: Claim, percent: int) -> bool:
    """Tell how far the work is; False when the lease was lost."""
    return _update(session, claim, progress=percent)


def held(session: Session, claim: Claim) -> ProcessingJob:
    """Return the claimed job, locked for this transaction.

    Raises:
        LeaseLost: it is another's.
    """
    job = session.get(ProcessingJob, claim.job_id, with_for_update=True)
    if job is None or job.lease_token != claim.token:
        raise LeaseLost(claim.job_id)
    return job


def hand_back(session: Session, claim: Claim, *, due_at: datetime, counts: bool) -> None:
    """Put the job down so that it is taken up again, at `due_at` or later.

    Args:
        counts: whether the attempt stays counted, as one that failed does.
    """
    job = held(session, claim)
    job.state = JobState.QUEUED
    job.attempts -= 0 if counts else 1
    job.due_at = due_at
    job.progress = 0 if job.transcribe else stages.BEGINS_AT[stages.Stage.EVALUATE]
    job.stages = stages.waiting(job.stages)
    release(job)
    audio = session.get_one(AudioFile, claim.audio_file_id)
    audio.status = AudioStatus.QUEUED
    # One that was canceled meanwhile, or is gone, is for the next attempt to find.
    with suppress(Conflict, NotFound):
        evaluations.set_status(session, claim.evaluation_id, Status.QUEUED)


def release(job: ProcessingJob) -> None:
    """End the lease; whoever held it before can write no more."""
    job.lease_token = job.lease_owner = job.lease_until = None


def _is_abandoned(job: ProcessingJob, now: datetime) -> bool:
    if job.lease_until is None or job.lease_owner is None:
        return True
    return job.lease_until < now or owner.is_dead(job.lease_owner)


def _locked(session: Session, seen: ProcessingJob) -> ProcessingJob | None:
    """Lock the row, unless somebody has taken it between the look and the lock."""
    return session.scalar(
        select(ProcessingJob)
        .where(
            ProcessingJob.id == seen.id,
            ProcessingJob.state == seen.state,
            ProcessingJob.lease_token.is_not_distinct_from(seen.lease_token),
        )
        .with_for_update(skip_locked=True)
    )


def _update(session: Session, claim: Claim, **values: object) -> bool:
    done = session.execute(
        update(ProcessingJob)
        .where(ProcessingJob.id == claim.job_id, ProcessingJob.lease_token == claim.token)
        .values(**values)
        .returning(ProcessingJob.id)
        .execution_options(synchronize_session=False)
    )
    return done.first() is not None
