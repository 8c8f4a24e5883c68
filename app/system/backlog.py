"""Backlog: the open work of each kind, and how long the oldest has waited."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.analytics.models import ExportJob
from app.audio_files.models import ProcessingJob, WaveformJob
from app.core.jobs.leases import OPEN_STATES, JobState, LeasedJob
from app.evaluations.models import EvaluationJob
from app.imports.models import Import
from app.privacy.models import Erasure
from app.webhooks import backlog as webhooks

_JOBS: dict[str, type[LeasedJob]] = {
    "recordings": ProcessingJob,
    "evaluations": EvaluationJob,
    "imports": Import,
    "exports": ExportJob,
    "waveforms": WaveformJob,
    "erasures": Erasure,
}


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Open work of one kind; `oldest_at` is when the oldest was queued, None without any."""

    kind: str
    waiting: int
    running: int
    oldest_at: datetime | None


def open_work(session: Session, now: datetime) -> list[OpenWork]:
    """Return the open work of every kind, webhook deliveries that are due last."""
    listed = [_of_jobs(session, kind, table) for kind, table in _JOBS.items()]
    due = webhooks.due(session, now)
    return [*listed, OpenWork("deliveries", due.waiting, due.running, due.oldest_at)]


def _of_jobs(session: Session, kind: str, table: type[LeasedJob]) -> OpenWork:
    rows = session.execute(
        select(table.state, func.count().label("number"), func.min(table.queued_at).label("oldest"))
        .where(table.state.in_(OPEN_STATES))
        .group_by(table.state)
    ).all()
    counts = {row.state: row.number for row in rows}
    return OpenWork(
        kind,
        waiting=counts.get(JobState.QUEUED, 0),
        running=counts.get(JobState.RUNNING, 0),
        oldest_at=min((row.oldest for row in rows), default=None),
    )
