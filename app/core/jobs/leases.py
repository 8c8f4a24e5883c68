"""Who works on which row: a job claimed with a lease, kept alive, put down again, or taken over."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar
from uuid import uuid4

from sqlalchemy import JSON, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.process import owner

LEASE = timedelta(seconds=25)
RENEW_EVERY_S = 5.0
# A crash is rarely the data's fault; a row that kills its worker each time must end, too.
MAX_ATTEMPTS = 5
TRIES_AFTER_FAILURE = 3
PAUSE = timedelta(seconds=5)


class LeaseLost(Exception):
    """The job is another's by now: its late holder may not write."""


class JobState(StrEnum):
    """Open while queued or running; then one of three ends."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


class LeasedJob(Table):
    """What tables of such jobs have in common; each indexes `state, priority, queued_at, id`.

    `attempts` counts the starts, and a start that was cut off by a crash with them.
    """

    __abstract__ = True

    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default=JobState.QUEUED)
    priority: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    lease_token: Mapped[str | None]
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    queued_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))


Job = TypeVar("Job", bound=LeasedJob)


@dataclass(frozen=True, slots=True)
class Lease(Generic[Job]):
    """A job that this process works on as long as the token is the row's; `attempt` is from 1."""

    table: type[Job]
    job_id: str
    token: str
    attempt: int


def due(session: Session, table: type[Job], now: datetime, *, limit: int = 100) -> list[Job]:
    """List the jobs that may be worked on now: those of high priority first, then the oldest.

    A running job is among them when its lease has run out, or its process is one of this host
    that has ended.
    """
    queued = session.scalars(
        select(table)
        .where(table.state == JobState.QUEUED, table.due_at <= now)
        .order_by(table.priority.desc(), table.queued_at, table.id)
        .limit(limit)
    ).all()
    running = session.scalars(select(table).where(table.state == JobState.RUNNING))
    left = [job for job in running if _is_abandoned(job, now)]
    return sorted([*left, *queued], key=lambda job: (-job.priority, job.queued_at, job.id))[:limit]


def due_ids(session: Session, table: type[LeasedJob]) -> Sequence[str]:
    """List the ids of the jobs that wait for a worker, or were left by one that has ended."""
    return [job.id for job in due(session, table, utc_now())]


def claim(session: Session, table: type[Job], job_id: str) -> Lease[Job] | None:
    """Take the job, or a due one of higher priority, or the next due one when it is taken.

    None when there is nothing to do.
    """
    now = utc_now()
    first = next(iter(due(session, table, now, limit=1)), None)
    if first is None:
        return None
    rung = session.get(table, job_id)
    asked = rung if rung is not None and _comes_with(rung, first, now) else first
    job = _locked(session, table, asked)
    if job is None:
        return None
    lease = Lease(table, job.id, token=uuid4().hex, attempt=job.attempts + 1)
    job.state = JobState.RUNNING
    job.attempts = lease.attempt
    job.lease_token = lease.token
    job.lease_owner = owner.this_process()
    job.lease_until = now + LEASE
    job.started_at = job.started_at or now
    session.flush()
    return lease


def renew(session: Session, lease: Lease[Job]) -> bool:
    """Keep the lease alive; False when it was lost."""
    return note(session, lease, lease_until=utc_now() + LEASE)


def note(session: Session, lease: Lease[Job], **columns: object) -> bool:
    """Write columns of a held job without reading it; False when the lease was lost."""
    table = lease.table
    done = session.execute(
        update(table)
        .where(table.id == lease.job_id, table.lease_token == lease.token)
        .values(**columns)
        .returning(table.id)
        .execution_options(synchronize_session=False)
    )
    return done.first() is not None


def held(session: Session, lease: Lease[Job]) -> Job:
    """Return the claimed job, locked for this transaction.

    Raises:
        LeaseLost: it is another's.
    """
    job = session.get(lease.table, lease.job_id, with_for_update=True)
    if job is None or job.lease_token != lease.token:
        raise LeaseLost(lease.job_id)
    return job


def put_down(session: Session, lease: Lease[Job], *, due_at: datetime, counts: bool) -> Job:
    """Leave the job to whoever comes, at `due_at` or later; return it.

    Args:
        counts: whether the attempt stays counted, as one that failed does.

    Raises:
        LeaseLost: it is another's.
    """
    job = held(session, lease)
    hand_back(job, due_at=due_at, counts=counts)
    return job


def hand_back(job: LeasedJob, *, due_at: datetime, counts: bool) -> None:
    """Queue a job once more, as `put_down` does, whoever held it; they can write no more."""
    job.state = JobState.QUEUED
    job.attempts -= 0 if counts else 1
    job.due_at = due_at
    _release(job)


def end(job: LeasedJob, state: JobState, now: datetime) -> None:
    """Close the job; whoever held it can write no more."""
    job.state = state
    job.completed_at = now
    _release(job)


def _release(job: LeasedJob) -> None:
    job.lease_token = job.lease_owner = job.lease_until = None


def _comes_with(job: LeasedJob, first: LeasedJob, now: datetime) -> bool:
    """Whether a job may be worked on now, and no other has to go before it."""
    is_open = job.state == JobState.QUEUED and job.due_at <= now
    is_left = job.state == JobState.RUNNING and _is_abandoned(job, now)
    return (is_open or is_left) and job.priority == first.priority


def _is_abandoned(job: LeasedJob, now: datetime) -> bool:
    if job.lease_until is None or job.lease_owner is None:
        return True
    return job.lease_until < now or owner.is_dead(job.lease_owner)


def _locked(session: Session, table: type[Job], seen: Job) -> Job | None:
    """Lock the row, unless somebody has taken it between the look and the lock."""
    return session.scalar(
        select(table)
        .where(
            table.id == seen.id,
            table.state == seen.state,
            table.lease_token.is_not_distinct_from(seen.lease_token),
        )
        .with_for_update(skip_locked=True)
    )
