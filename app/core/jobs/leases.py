"""Leases on jobs: a process claims a row, renews its lease, and releases or ends the job."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar
from uuid import uuid4

from sqlalchemy import JSON, ColumnElement, Select, exists, or_, select, update
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column, object_session

from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.hooks import hooks_of
from app.core.process import owner
from app.core.process.traces import traceparent

LEASE = timedelta(seconds=25)
RENEW_EVERY_S = 5.0
# A crash is rarely the data's fault; a row that kills its worker each time must end, too.
MAX_ATTEMPTS = 5
TRIES_AFTER_FAILURE = 3
RETRY_PAUSE = timedelta(seconds=5)
_DUE_AT_ONCE = 100


class LeaseLost(Exception):
    """Another process holds the job by now; the late holder may not write."""


class JobState(StrEnum):
    """State of a job: queued or running while it is open, then one of three ends."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)
# As the API names the states of jobs that cannot be canceled.
SHOWN_STATES = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "running",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
}


class LeasedJob(Table):
    """Columns that all tables of jobs share; each indexes `state, priority, queued_at, id`.

    `attempts` counts every start, also one that a crash cut off. `kind` names the jobs of a table
    in metrics and in the dashboard. `traceparent` names the trace of what has queued the job.
    """

    __abstract__ = True
    kind: ClassVar[str]

    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default=JobState.QUEUED)
    priority: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    lease_token: Mapped[str | None]
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime, default=utc_now)
    queued_at: Mapped[datetime] = mapped_column(UtcDateTime, default=utc_now)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    error: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))
    traceparent: Mapped[str | None] = mapped_column(default=traceparent)


Job = TypeVar("Job", bound=LeasedJob)


@dataclass(frozen=True, slots=True)
class Lease(Generic[Job]):
    """A claim on a job, valid while its token is in the row; `attempt` counts from 1."""

    table: type[Job]
    job_id: str
    token: str
    attempt: int
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that has just ended; `started_at` is None if it never ran."""

    kind: str
    outcome: JobState
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime


def due_ids(session: Session, table: type[LeasedJob]) -> Sequence[str]:
    """List the ids of jobs that may start now: high priority first, then the oldest.

    They include running jobs whose lease has expired, or whose process on this host has ended.
    """
    now = utc_now()
    queued = session.scalars(_queued(table, now).limit(_DUE_AT_ONCE))
    due = sorted([*_abandoned(session, table, now), *queued], key=_in_order)
    return [job.id for job in due[:_DUE_AT_ONCE]]


def claim(session: Session, job_id: str, table: type[Job]) -> Lease[Job] | None:
    """Claim the job, or a due one of higher priority, or the next due one if it is taken.

    None when nothing is due.
    """
    now = utc_now()
    job = _lock_asked(session, table, job_id, now) or _lock_next(session, table, now)
    return _start(session, table, job, now)


def claim_started_before(session: Session, _: str, table: type[Job]) -> Lease[Job] | None:
    """Claim the next due job that was started at least once; the id is ignored. None without any."""
    now = utc_now()
    return _start(session, table, _lock_next(session, table, now, min_attempts=1), now)


def claim_new(
    session: Session, table: type[Job], *conditions: ColumnElement[bool], limit: int
) -> list[Lease[Job]]:
    """Claim the next few due jobs that were never started, of those that meet the conditions."""
    now = utc_now()
    unstarted = _queued(table, now).where(table.attempts == 0, *conditions).limit(limit)
    jobs = session.scalars(unstarted.with_for_update(skip_locked=True)).all()
    leases = [_leased(table, job, now) for job in jobs]
    session.flush()
    return leases


def renew(session: Session, lease: Lease[Job]) -> bool:
    """Extend the lease; False when it was lost."""
    return note(session, lease, lease_until=utc_now() + LEASE)


def note(session: Session, lease: Lease[Job], **columns: object) -> bool:
    """Write columns of a claimed job without reading it; False when the lease was lost."""
    table = lease.table
    updated = session.execute(
        update(table)
        .where(table.id == lease.job_id, table.lease_token == lease.token)
        .values(**columns)
        .returning(table.id)
        .execution_options(synchronize_session=False)
    )
    return updated.first() is not None


def held(session: Session, lease: Lease[Job]) -> Job:
    """Return the claimed job, locked for this transaction.

    Raises:
        LeaseLost: another process has the job.
    """
    job = session.get(lease.table, lease.job_id, with_for_update=True)
    if job is None or job.lease_token != lease.token:
        raise LeaseLost(lease.job_id)
    return job


def held_among(session: Session, leases: Sequence[Lease[Job]]) -> list[Job]:
    """Return those of these claimed jobs that are still held, locked for this transaction."""
    if not leases:
        return []
    tokens = {lease.job_id: lease.token for lease in leases}
    table = leases[0].table
    jobs = session.scalars(
        select(table).where(table.id.in_(tokens)).order_by(table.id).with_for_update()
    )
    return [job for job in jobs if job.lease_token == tokens[job.id]]


def release(session: Session, lease: Lease[Job], due_at: datetime, counts: bool) -> Job:
    """Return a claimed job to its queue, due at `due_at`; return its row.

    Args:
        counts: whether the attempt stays counted, as a failed one does.

    Raises:
        LeaseLost: another process has the job.
    """
    job = held(session, lease)
    requeue(job, due_at=due_at, counts=counts)
    return job


def requeue(job: LeasedJob, *, due_at: datetime, counts: bool) -> None:
    """Return a job to its queue as `release` does; a process that held it can write no more."""
    job.state = JobState.QUEUED
    job.attempts -= 0 if counts else 1
    job.due_at = due_at
    _clear_lease(job)


def end(job: LeasedJob, state: JobState, now: datetime) -> None:
    """Close the job; a process that held it can write no more."""
    job.state = state
    job.completed_at = now
    _clear_lease(job)
    announce_end(job, state, now)


def announce_end(job: LeasedJob, state: JobState, now: datetime) -> None:
    """Call the hooks for a job that ends; `end` does so, and those that delete a job's row."""
    session = object_session(job)
    if session is not None:
        ended_job = EndedJob(job.kind, state, job.queued_at, job.started_at, now)
        for hook in hooks_of(session).on_job_ended:
            hook(session, ended_job)


def _leased(table: type[Job], job: Job, now: datetime) -> Lease[Job]:
    lease = Lease(table, job.id, uuid4().hex, job.attempts + 1, job.traceparent)
    job.state = JobState.RUNNING
    job.attempts = lease.attempt
    job.lease_token = lease.token
    job.lease_owner = owner.this_process()
    job.lease_until = now + LEASE
    job.started_at = job.started_at or now
    return lease


def _clear_lease(job: LeasedJob) -> None:
    job.lease_token = job.lease_owner = job.lease_until = None


def _queued(table: type[Job], now: datetime) -> Select[Job]:
    return (
        select(table)
        .where(table.state == JobState.QUEUED, table.due_at <= now)
        .order_by(table.priority.desc(), table.queued_at, table.id)
    )


def _in_order(job: LeasedJob) -> tuple[int, datetime, str]:
    return -job.priority, job.queued_at, job.id


def _abandoned(session: Session, table: type[Job], now: datetime) -> list[Job]:
    is_running = table.state == JobState.RUNNING
    has_expired = or_(
        table.lease_until.is_(None), table.lease_until < now, table.lease_owner.is_(None)
    )
    # Workers hold batches, so owners are far fewer than jobs.
    owners = session.scalars(select(table.lease_owner).where(is_running, ~has_expired).distinct())
    dead = [name for name in owners if name is not None and owner.is_dead(name)]
    is_abandoned = or_(has_expired, table.lease_owner.in_(dead))
    return list(session.scalars(select(table).where(is_running, is_abandoned)))


def _lock_asked(session: Session, table: type[Job], job_id: str, now: datetime) -> Job | None:
    """Lock this job; None unless it is queued and due, and no job of higher priority is."""
    higher = aliased(table)
    is_urgent = exists().where(
        higher.state == JobState.QUEUED, higher.priority > table.priority, higher.due_at <= now
    )
    return session.scalar(
        _queued(table, now)
        .where(table.id == job_id, ~is_urgent)
        .with_for_update(skip_locked=True, of=table)
    )


def _lock_next(
    session: Session, table: type[Job], now: datetime, *, min_attempts: int = 0
) -> Job | None:
    """Lock the first due job that no other transaction has locked."""
    first = session.scalar(
        _queued(table, now)
        .where(table.attempts >= min_attempts)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    for job in sorted(_abandoned(session, table, now), key=_in_order):
        if first is not None and _in_order(first) < _in_order(job):
            break
        locked = _lock_abandoned(session, table, job)
        if locked is not None:
            return locked
    return first


def _lock_abandoned(session: Session, table: type[Job], seen: Job) -> Job | None:
    """Lock the row, unless another process has locked or claimed it."""
    return session.scalar(
        select(table)
        .where(
            table.id == seen.id,
            table.state == JobState.RUNNING,
            table.lease_token.is_not_distinct_from(seen.lease_token),
        )
        .with_for_update(skip_locked=True)
    )


def _start(session: Session, table: type[Job], job: Job | None, now: datetime) -> Lease[Job] | None:
    if job is None:
        return None
    lease = _leased(table, job, now)
    session.flush()
    return lease
