"""Exports that could hold what was erased: their files end, and those that run begin anew."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.models import ExportJob
from app.analytics.wishes import Dataset
from app.core.clock import utc_now
from app.core.leases import JobState

_WITH_WORDS = (Dataset.EVALUATIONS, Dataset.CRITERIA, Dataset.SEGMENTS)


def retire(session: Session) -> int:
    """End the life of ready files now, and start running exports again; return how many files."""
    now = utc_now()
    ready = session.scalars(
        select(ExportJob)
        .where(
            ExportJob.dataset.in_(_WITH_WORDS),
            ExportJob.state == JobState.SUCCEEDED,
            ExportJob.expires_at > now,
        )
        .with_for_update()
    ).all()
    for job in ready:
        job.expires_at = now
    running = session.scalars(
        select(ExportJob).where(
            ExportJob.dataset.in_(_WITH_WORDS), ExportJob.state == JobState.RUNNING
        )
    ).all()
    for job in running:
        job.state, job.due_at = JobState.QUEUED, now
        job.lease_token = job.lease_owner = job.lease_until = None
    return len(ready)
