"""Exports that could hold what was erased: their files end, and those that run begin anew."""

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from app.analytics.models import ExportJob
from app.analytics.wishes import Dataset
from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import JobState

_WITH_WORDS = (Dataset.EVALUATIONS, Dataset.CRITERIA, Dataset.SEGMENTS)


def retire(session: Session) -> int:
    """End the life of ready files now, and start running exports again; return how many files.

    That a running one begins anew does not count as an attempt of its own.
    """
    now = utc_now()
    is_ready = and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at > now)
    found = session.scalars(
        select(ExportJob)
        .where(
            ExportJob.dataset.in_(_WITH_WORDS),
            or_(is_ready, ExportJob.state == JobState.RUNNING),
        )
        .with_for_update()
    ).all()
    ready = [job for job in found if job.state == JobState.SUCCEEDED]
    for job in found:
        if job.state == JobState.SUCCEEDED:
            job.expires_at = now
        else:
            leases.requeue(job, due_at=now, counts=False)
    return len(ready)
