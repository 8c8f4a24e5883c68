"""Metrics of jobs: counts a job once the transaction that ends it is durable."""

from functools import partial

from sqlalchemy.orm import Session

from app.core.database.session import after_commit
from app.core.jobs.leases import EndedJob
from app.core.metrics.catalogue import JOB_SECONDS, JOBS_ENDED
from app.core.metrics.counts import ProcessCounts


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
