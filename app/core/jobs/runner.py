"""Runs claimed jobs: renews the lease, retries, releases or fails the job, and counts its end."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, Self

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import after_commit
from app.core.errors import AppError, ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import (
    MAX_ATTEMPTS,
    RENEW_EVERY_S,
    RETRY_PAUSE,
    TRIES_AFTER_FAILURE,
    EndedJob,
    Job,
    Lease,
    LeaseLost,
)
from app.core.metrics import JOB_SECONDS, JOBS_ENDED, ProcessCounts
from app.core.process import log, stopping
from app.core.process.stopping import Stopped
from app.core.queue import Bell
from app.core.runtime import Runtime

logger = logging.getLogger(__name__)

_PROGRESS_EVERY_S, _FIRST_PROGRESS_S = 5.0, 0.5


class Interrupted(Exception):
    """The job was cut off too often to start once more."""


class RunningJob(Generic[Job]):
    """A claimed job while its handler runs: its transactions, its progress, its signal to stop."""

    def __init__(self, runtime: Runtime, lease: Lease[Job]) -> None:
        self.runtime = runtime
        self.lease = lease
        self.renewal = LeaseRenewal(self._renew, RENEW_EVERY_S)
        self._progress, self._progress_at = 0, time.monotonic()

    def transaction(self) -> AbstractContextManager[Session]:
        """Open a write transaction; a step in it begins with `leases.held`."""
        return self.runtime.db.writing()

    def report_progress(self, percent: int) -> None:
        """Write the job's `progress`: early once, then every five seconds; a busy database is ignored.

        The write also shows early that the lease is lost.
        """
        now = time.monotonic()
        pause_s = _PROGRESS_EVERY_S if self._progress else _FIRST_PROGRESS_S
        if percent > self._progress and now - self._progress_at >= pause_s:
            self._progress, self._progress_at = percent, now
            with suppress(ServiceUnavailable), self.transaction() as session:
                self.renewal.lost = not leases.note(session, self.lease, progress=percent)

    def should_stop(self) -> bool:
        """Return whether the handler has to end early; long work asks at every step."""
        return self.renewal.lost or stopping.requested()

    def require_going_on(self) -> None:
        """Raise `LeaseLost` or `Stopped` when the handler has to end early."""
        if self.renewal.lost:
            raise LeaseLost(self.lease.job_id)
        if stopping.requested():
            raise Stopped

    def _renew(self) -> bool:
        with self.transaction() as session:
            return leases.renew(session, self.lease)


@dataclass(frozen=True, slots=True)
class JobType(Generic[Job]):
    """A type of job: how it is claimed, its handler, and how it ends without the handler.

    Attributes:
        claim: claims the job with this id, or another that is due; None without any.
        handle: does the work and ends the job. It runs outside of any transaction and opens short
            ones; `Stopped` and `ServiceUnavailable` release the job without counting the attempt,
            the latter for `retry_after_s` at least; any other exception counts.
        fail: ends the job without its work, because of `Interrupted` or an error of `handle`.
        release: returns the job to its queue, for a later attempt.
        is_final: whether another attempt would only fail in the same way.
    """

    claim: Callable[[Session, str], Lease[Job] | None]
    handle: Callable[[RunningJob[Job]], None]
    fail: Callable[[Session, Lease[Job], Exception], object]
    release: Callable[[Session, Lease[Job], datetime, bool], object] = leases.release
    is_final: Callable[[Exception], bool] = lambda _: False


def list_due(table: type[Job], runtime: Runtime) -> Sequence[str]:
    """List the ids of jobs that wait for a worker or were abandoned by one."""
    with runtime.db.reading() as session:
        return leases.due_ids(session, table)


def run_next(runtime: Runtime, job_type: JobType[Job], job_id: str) -> Lease[Job] | None:
    """Claim this job, or another that is due, and run it once; return what was claimed.

    Safe to call twice: one process at a time holds a claim, and one that has lost it writes
    nothing.
    """
    with runtime.db.writing() as session:
        lease = job_type.claim(session, job_id)
    if lease is not None:
        token = log.job_id.set(lease.job_id)
        try:
            with runtime.traces.job(
                lease.table.kind, lease.job_id, [lease.traceparent], runtime.db.engine
            ):
                _run(RunningJob(runtime, lease), job_type)
        finally:
            log.job_id.reset(token)
    runtime.counts.write()
    return lease


def answer_bell(runtime: Runtime, job_type: JobType[Job], bell: Bell) -> None:
    """Run the job that the bell names, or another that is due; then ring again for the named one."""
    lease = run_next(runtime, job_type, bell.row_id)
    if lease is not None and lease.job_id != bell.row_id:
        runtime.doorbell.ring(bell)


def _run(job: RunningJob[Job], job_type: JobType[Job]) -> None:
    lease = job.lease
    try:
        if lease.attempt > MAX_ATTEMPTS:
            with job.transaction() as session:
                job_type.fail(session, lease, Interrupted())
        else:
            _attempt(job, job_type)
    except LeaseLost:
        logger.warning("the lease on %s was lost; another worker has the job", lease.job_id)


def _attempt(job: RunningJob[Job], job_type: JobType[Job]) -> None:
    lease = job.lease
    try:
        with job.renewal:
            job_type.handle(job)
    except LeaseLost:
        raise
    except Stopped:
        _release(job, job_type, due_at=utc_now(), counts=False)
    except ServiceUnavailable as error:
        logger.warning("the job %s has to wait: %s", lease.job_id, error)
        wait = max(RETRY_PAUSE, timedelta(seconds=error.retry_after_s or 0))
        _release(job, job_type, due_at=utc_now() + wait, counts=False)
    except Exception as error:  # the edge of the process: no job may hang half-way
        is_final = job_type.is_final(error)
        if is_final:  # not an error of ours: a file that is not a recording, a missing model
            logger.warning("the job %s cannot be done: %s", lease.job_id, error)
        else:
            logger.exception("the job %s failed", lease.job_id)
        if is_final or lease.attempt >= TRIES_AFTER_FAILURE:
            with job.transaction() as session:
                job_type.fail(session, lease, error)
        else:
            due_at = utc_now() + lease.attempt * RETRY_PAUSE
            _release(job, job_type, due_at=due_at, counts=True)


def _release(
    job: RunningJob[Job], job_type: JobType[Job], *, due_at: datetime, counts: bool
) -> None:
    with job.transaction() as session:
        job_type.release(session, job.lease, due_at, counts)


class LeaseRenewal:
    """Renews the lease every few seconds inside its `with` block; `lost` says that it is gone."""

    def __init__(self, renew: Callable[[], bool], every_s: float) -> None:
        self._renew = renew
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease renewal", daemon=True)
        self.lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self.lost and not self._ended.wait(self._every_s):
            try:
                self.lost = not self._renew()
            except AppError as error:
                # The lease outlasts a few renewals that the database was too busy for.
                logger.warning("the lease was not renewed: %s", error)
            except Exception:
                # If this thread ended, another worker would start the same job.
                logger.exception("the lease was not renewed")


def count_ended(counts: ProcessCounts, session: Session, job: EndedJob) -> None:
    """Count an ended job with its waiting and its running time, after the commit."""
    after_commit(session, partial(_count, counts, job))


def _count(counts: ProcessCounts, job: EndedJob) -> None:
    counts.count(JOBS_ENDED, job.kind, job.outcome)
    if job.started_at is not None:
        waited = (job.started_at - job.queued_at).total_seconds()
        ran = (job.ended_at - job.started_at).total_seconds()
        counts.observe(JOB_SECONDS, job.kind, "waiting", seconds=waited)
        counts.observe(JOB_SECONDS, job.kind, "running", seconds=ran)
