"""Exports: asked for, worked on, shown, and forgotten when their time is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.analytics.datasets import catalogue
from app.analytics.datasets.figures import question_of
from app.analytics.export_records import found, status_of
from app.analytics.formats import writers
from app.analytics.models import ExportJob
from app.analytics.wishes import OF_FIGURES, Dataset, Format, Wish, wish_from
from app.core.clock import iso_utc, utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.core.storage import StoredObject
from app.events.catalogue import EventType
from app.events.outbox import publish
from app.events.payloads import ExportReady

QUEUE = "exports"
KEPT_FOR = timedelta(hours=24)
MOST_RUNNING = 2
MOST_WAITING = 100
_WITH_ROOM = "csv, jsonl or parquet"
# What can be asked of a view that works with facts, and not with the rows of a list.
_VIEW_FILTERS = frozenset(
    {"engagement_id", "campaign_id", "call_center_id", "executive_id", "channel", "scorecard_id"}
)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written, as which object, and the object of an attempt that was cut off."""

    wish: Wish
    object_id: str
    left: str | None


def bell(job_id: str) -> Bell:
    """Return the bell that tells a worker of an export."""
    return Bell(QUEUE, job_id)


def request(session: Session, wish: Wish, *, file_name: str | None, created_by: str) -> ExportJob:
    """Queue an export.

    Raises:
        InvalidInput: the columns, the filters or the period do not go with the dataset.
        Conflict: the format cannot be written here, or too many exports wait.
    """
    _require_sense(wish)
    if wish.dataset in OF_FIGURES:
        # What is looked at is fixed by the question, not by when it is worked on.
        period = question_of(wish).period
        wish = replace(wish, start=period.start, end=period.end)
    if not writers.is_available(wish.format):
        raise Conflict(f"{wish.format} cannot be written here: its package is not installed.")
    waiting = select(func.count()).where(ExportJob.state.in_(leases.OPEN_STATES))
    if (session.scalar(waiting) or 0) >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} exports are waiting: try again when some are ready.")
    now = utc_now()
    job = ExportJob(
        id=new_id("exp"),
        dataset=wish.dataset,
        format=wish.format,
        wish=wish.as_json(),
        file_name=_file_name(file_name, wish, now),
        created_by=created_by,
        due_at=now,
        queued_at=now,
    )
    session.add(job)
    session.flush()
    ring_after_commit(session, bell(job.id))
    return job


def require_room(session: Session, wish: Wish) -> None:
    """Refuse what a sheet could not hold, before anybody works on it; raise `Conflict`."""
    most = writers.MOST_ROWS_OF_A_SHEET
    if wish.format is Format.XLSX and (count := catalogue.least_rows(session, wish)) > most:
        raise Conflict(f"A sheet holds {most} rows, and these are {count}: take {_WITH_ROOM}.")


def is_offered(session: Session, object_id: str) -> bool:
    """Whether a file is that of an export which is ready."""
    job = session.get(ExportJob, _job_of(object_id))
    return job is not None and job.object_id == object_id and status_of(job, utc_now()) == "ready"


def claim(session: Session, job_id: str) -> Lease[ExportJob] | None:
    """Take an export to work on; None when there is nothing to do, or two are running already."""
    running = session.scalars(select(ExportJob).where(ExportJob.state == JobState.RUNNING))
    now = utc_now()
    alive = [job for job in running if job.lease_until is not None and job.lease_until > now]
    if len(alive) >= MOST_RUNNING:
        return None
    return leases.claim(session, ExportJob, job_id)


def begin(session: Session, lease: Lease[ExportJob]) -> Task:
    """Name the file of this attempt, and the one that an earlier attempt may have left."""
    job = leases.held(session, lease)
    left = job.object_id
    job.object_id = f"{job.id}_{lease.token[:12]}"
    job.progress = 0
    return Task(wish_of(job), job.object_id, left)


def finish(
    session: Session, lease: Lease[ExportJob], *, stored: StoredObject, row_count: int
) -> None:
    """Offer the file and announce `export.ready`; `LeaseLost` when the export is another's."""
    job = leases.held(session, lease)
    now = utc_now()
    job.expires_at = (now + KEPT_FOR).replace(microsecond=0)
    job.file_size_bytes, job.sha256 = stored.size_bytes, stored.sha256
    job.row_count, job.progress, job.error = row_count, 100, None
    leases.end(job, JobState.SUCCEEDED, now)
    session.flush()
    data = ExportReady(
        job_id=job.id,
        dataset=job.dataset,
        format=Format(job.format).value,
        row_count=row_count,
        file_size_bytes=stored.size_bytes,
        expires_at=iso_utc(job.expires_at),
    )
    publish(session, EventType.EXPORT_READY, data)


def cancel(session: Session, job_id: str) -> None:
    """End an export that waits or runs, or take its file back; one that has ended stays so.

    Whoever works on it has lost the lease and notices within seconds; a link ends at once, and the
    file goes with the next purge.

    Raises:
        NotFound: there is no such export.
    """
    job = found(session, job_id, for_update=True)
    now = utc_now()
    if job.state in leases.OPEN_STATES:
        leases.end(job, JobState.CANCELED, now)
        job.expires_at = now + leases.LEASE
    elif status_of(job, now) == "ready":
        job.expires_at = now


def fail(session: Session, lease: Lease[ExportJob], *, code: str, message: str) -> None:
    """End an export without a file."""
    job = leases.held(session, lease)
    job.error = {"code": code, "message": message}
    leases.end(job, JobState.FAILED, utc_now())
    job.expires_at = job.completed_at


def files_that_are_over(session: Session, now: datetime, *, limit: int = 100) -> dict[str, str]:
    """Map exports whose time is over to their files, which are no longer offered."""
    found = session.execute(
        select(ExportJob.id, ExportJob.object_id)
        .where(ExportJob.expires_at <= now, ExportJob.object_id.is_not(None))
        .order_by(ExportJob.expires_at)
        .limit(limit)
    )
    return {job_id: str(object_id) for job_id, object_id in found}


def forget_files(session: Session, files: Mapping[str, str]) -> None:
    """Note that these files of these exports are gone."""
    for job in session.scalars(select(ExportJob).where(ExportJob.id.in_(files)).with_for_update()):
        if job.object_id == files[job.id]:
            job.object_id = None


def purge(session: Session, *, before: datetime) -> None:
    """Delete the exports that ended before this moment and whose files are gone."""
    session.execute(
        delete(ExportJob).where(ExportJob.completed_at < before, ExportJob.object_id.is_(None))
    )


def unknown_among(session: Session, object_ids: Sequence[str]) -> Sequence[str]:
    """List those of these files that no export names."""
    jobs = {_job_of(each) for each in object_ids}
    known = select(ExportJob.object_id).where(ExportJob.id.in_(jobs))
    return sorted(set(object_ids) - {each for each in session.scalars(known) if each is not None})


def at_work(session: Session) -> set[str]:
    """Name the files that are being made now."""
    running = select(ExportJob.object_id).where(ExportJob.state == JobState.RUNNING)
    return {each for each in session.scalars(running) if each is not None}


def wish_of(job: ExportJob) -> Wish:
    """Return what an export is to be."""
    return wish_from(job.dataset, job.format, job.wish)


def _require_sense(wish: Wish) -> None:
    known = [column.name for column in catalogue.COLUMNS[wish.dataset]]
    strange = [name for name in wish.columns if name not in known]
    if strange:
        message = f"{strange[0]!r} is none of {', '.join(known)}."
        raise InvalidInput.field("columns", message, code="ENUM")
    if len(set(wish.columns)) < len(wish.columns):
        raise InvalidInput.field("columns", "A column stands more than once.")
    given = set(wish.filters)
    if wish.dataset is Dataset.USAGE and given:
        raise InvalidInput.field("filters", "Usage has no filters.", code="UNKNOWN")
    if wish.dataset in OF_FIGURES and given - _VIEW_FILTERS:
        message = "This dataset has the filters of the views of analytics only."
        raise InvalidInput.field("filters", message, code="UNKNOWN")


def _file_name(wanted: str | None, wish: Wish, now: datetime) -> str:
    ending = f".{wish.format}"
    name = wanted or f"{wish.dataset}-{now:%Y%m%d-%H%M%S}"
    return name if name.casefold().endswith(ending) else name + ending


def _job_of(object_id: str) -> str:
    return object_id.rpartition("_")[0]
