"""Backlog: the open work of each kind, and how long the oldest has waited."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.analytics.models import ExportJob
from app.audio_files.models import ProcessingJob, WaveformJob
from app.core.jobs.leases import OPEN_STATES, JobState, LeasedJob
from app.evaluations.models import EvaluationJob, ScorecardTrial
from app.imports.models import Import
from app.intake.models import IntakeDelivery
from app.privacy.models import Erasure
from app.webhooks import backlog as webhooks

_JOBS: tuple[type[LeasedJob], ...] = (
    ProcessingJob,
    EvaluationJob,
    Import,
    IntakeDelivery,
    ExportJob,
    WaveformJob,
    Erasure,
    ScorecardTrial,
)


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Work of one kind; `oldest_at` is when the oldest was queued or due, None without any."""

    kind: str
    waiting: int
    running: int
    oldest_at: datetime | None


def open_work(session: Session, now: datetime) -> list[OpenWork]:
    """Return the open work of every kind; last, the webhook deliveries that are due."""
    jobs = [_of_jobs(session, table) for table in _JOBS]
    return [*jobs, OpenWork("deliveries", *webhooks.due(session, now))]


def due_jobs(session: Session, now: datetime) -> list[OpenWork]:
    """Return the jobs of every kind that a worker could take now, and those at work."""
    return [_due_of(session, table, now) for table in _JOBS]


def _due_of(session: Session, table: type[LeasedJob], now: datetime) -> OpenWork:
    due_count, oldest = session.execute(
        select(func.count(), func.min(table.due_at))
        .where(table.state == JobState.QUEUED)
        .where(table.due_at <= now)
    ).one()
    running = select(func.count()).where(table.state == JobState.RUNNING)
    return OpenWork(table.kind, due_count, session.scalar(running) or 0, oldest)


def _of_jobs(session: Session, table: type[LeasedJob]) -> OpenWork:
    rows = session.execute(
        select(table.state, func.count().label("number"), func.min(table.queued_at).label("oldest"))
        .where(table.state.in_(OPEN_STATES))
        .group_by(table.state)
    ).all()
    counts = {row.state: row.number for row in rows}
    return OpenWork(
        table.kind,
        waiting=counts.get(JobState.QUEUED, 0),
        running=counts.get(JobState.RUNNING, 0),
        oldest_at=min((row.oldest for row in rows), default=None),
    )
