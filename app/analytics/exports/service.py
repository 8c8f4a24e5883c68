"""Exports as rows: requested, listed, claimed, finished or failed, and deleted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection
from app.analytics.enums import Dataset, ExportStatus, Format
from app.analytics.exports import writers
from app.analytics.exports.datasets import catalogue
from app.analytics.exports.datasets.reports import report_selection
from app.analytics.exports.request import (
    REPORT_DATASETS,
    ExportRequest,
    request_of,
    required_scopes,
)
from app.analytics.models import ExportJob
from app.core.clock import iso_utc, utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.principal import TeamScope, current_teams
from app.core.queue import Bell
from app.core.storage.objects import StoredObject
from app.events.catalogue import EventType
from app.events.data import ExportReady
from app.events.outbox import publish

QUEUE = "exports"
bell = partial(Bell, QUEUE)
_FILE_LIFETIME = timedelta(hours=24)
_MAX_RUNNING = 2
_MAX_OPEN = 100
_FILES_AT_ONCE = 100
_SORTABLE = {"created_at": ExportJob.queued_at}
_REPORT_FILTERS = {field.name for field in fields(Selection)} - {"period"}
_COACHING_FILTERS = {"executive_id", "call_center_id"}
_DATASETS_WITH_TEXT = (
    Dataset.EVALUATIONS,
    Dataset.CRITERIA,
    Dataset.SEGMENTS,
    Dataset.COACHING,
    Dataset.MOMENTS,
    Dataset.COACHING_SESSIONS,
)


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A claimed export: the object to write, and the object of an interrupted attempt."""

    request: ExportRequest
    object_id: str
    former_object_id: str | None
    teams: TeamScope | None


def complete(request: ExportRequest) -> ExportRequest:
    """Check a request, and set the period of a report that has none."""
    _check(request)
    if request.dataset in REPORT_DATASETS:
        # The default period ends at the time of the request, not when a worker runs it.
        period = report_selection(request).period
        request = replace(request, start=period.start, end=period.end)
    if not writers.is_available(request.format):
        raise Conflict(f"The package that writes {request.format} is not installed: request csv.")
    return request


def create(
    session: Session, request: ExportRequest, *, file_name: str | None, created_by: str
) -> ExportJob:
    """Queue an export.

    Raises:
        InvalidInput: the dataset does not have these columns or filters, or the period is invalid.
        Conflict: the package of the format is not installed, or too many exports are open.
    """
    request = complete(request)
    open_jobs = select(func.count()).where(ExportJob.state.in_(leases.OPEN_STATES))
    if (session.scalar(open_jobs) or 0) >= _MAX_OPEN:
        raise Conflict(f"{_MAX_OPEN} exports are queued or running: wait until some are ready.")
    job = ExportJob(
        id=new_id("exp"),
        dataset=request.dataset,
        format=request.format,
        request=request.as_json(),
        file_name=_file_name(file_name, request),
        created_by=created_by,
        teams=teams.as_text() if (teams := current_teams()) else None,
    )
    session.add(job)
    session.flush()
    ring_after_commit(session, bell(job.id))
    return job


def require_fits_sheet(session: Session, request: ExportRequest) -> None:
    """Raise `Conflict` when XLSX is requested for more rows than a sheet can have."""
    if request.format is not Format.XLSX:
        return
    limit = writers.MOST_ROWS_OF_A_SHEET
    count = catalogue.least_rows(session, request, above=limit)
    if count > limit:
        raise Conflict(
            f"A sheet can have {limit} rows, but this export has {count}: "
            "request csv, jsonl or parquet."
        )


def find(session: Session, job_id: str, *, for_update: bool = False) -> ExportJob:
    """Return an export, locked if `for_update`; raise `NotFound` if it does not exist."""
    return find_row(session, ExportJob, job_id, "export", for_update=for_update)


def list_page(
    session: Session,
    request: PageRequest,
    *,
    scopes: Collection[str],
    dataset: str | None = None,
    status: Sequence[str] = (),
) -> Page[ExportJob]:
    """Return a page of exports, newest first by default.

    Args:
        scopes: those of the caller, who sees the exports of rows that these scopes may read.
    """
    conditions = [_is_readable(scopes)]
    if dataset is not None:
        conditions.append(ExportJob.dataset == dataset)
    if status:
        now = utc_now()
        conditions.append(or_(*(_has_status(ExportStatus(name), now) for name in status)))
    statement = select(ExportJob).where(*conditions)
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=ExportJob.id)
    return replace(page, items=[row["ExportJob"] for row in page.items])


def readable_datasets(scopes: Collection[str], *, with_text: bool = False) -> list[Dataset]:
    requests = [ExportRequest(dataset, Format.CSV, include_text=with_text) for dataset in Dataset]
    return [item.dataset for item in requests if set(required_scopes(item)).issubset(scopes)]


def status_of(job: ExportJob, now: datetime) -> ExportStatus:
    if job.state == JobState.SUCCEEDED:
        is_expired = job.expires_at is not None and job.expires_at <= now
        return ExportStatus.EXPIRED if is_expired else ExportStatus.READY
    return ExportStatus(job.state)


def is_downloadable(session: Session, object_id: str) -> bool:
    job = session.get(ExportJob, _job_id_of(object_id))
    if job is None or job.object_id != object_id:
        return False
    return status_of(job, utc_now()) is ExportStatus.READY


def claim(session: Session, job_id: str) -> Lease[ExportJob] | None:
    """Claim an export; None when none is due, or as many run already as may."""
    running = session.scalars(select(ExportJob).where(ExportJob.state == JobState.RUNNING))
    now = utc_now()
    alive = [job for job in running if job.lease_until is not None and job.lease_until > now]
    if len(alive) >= _MAX_RUNNING:
        return None
    return leases.claim(session, job_id, ExportJob)


def begin(session: Session, lease: Lease[ExportJob]) -> ExportTask:
    """Begin an attempt with a new object id."""
    job = leases.held(session, lease)
    former = job.object_id
    job.object_id = f"{job.id}_{lease.token[:12]}"
    job.progress = 0
    teams = TeamScope.from_text(job.teams, job.created_by)
    return ExportTask(request_of(job), job.object_id, former, teams)


def finish(
    session: Session, lease: Lease[ExportJob], *, stored: StoredObject, row_count: int
) -> None:
    """Offer the file and publish `export.ready`; raise `LeaseLost` without the lease."""
    job = leases.held(session, lease)
    now = utc_now()
    job.expires_at = (now + _FILE_LIFETIME).replace(microsecond=0)
    job.file_size_bytes, job.sha256 = stored.size_bytes, stored.sha256
    job.row_count, job.progress, job.error = row_count, 100, None
    leases.end(job, JobState.SUCCEEDED, now)
    session.flush()
    data = ExportReady(
        job_id=job.id,
        dataset=job.dataset,
        format=cast("Any", job.format),
        row_count=row_count,
        file_size_bytes=stored.size_bytes,
        expires_at=iso_utc(job.expires_at),
    )
    publish(session, EventType.EXPORT_READY, data)


def fail(session: Session, lease: Lease[ExportJob], *, code: str, message: str) -> None:
    """End an export without a file."""
    job = leases.held(session, lease)
    job.error = {"code": code, "message": message}
    leases.end(job, JobState.FAILED, utc_now())
    job.expires_at = job.completed_at


def cancel(session: Session, job_id: str) -> None:
    """Cancel an export that is queued or running, or expire its file.

    A running worker notices within seconds that it has lost the lease. Links stop working at once;
    the next purge deletes the file. An export that has failed, expired or been canceled stays so.
    """
    job = find(session, job_id, for_update=True)
    now = utc_now()
    if job.state in leases.OPEN_STATES:
        leases.end(job, JobState.CANCELED, now)
        job.expires_at = now + leases.LEASE
    elif status_of(job, now) is ExportStatus.READY:
        job.expires_at = now


def withdraw_texts(session: Session) -> int:
    """Expire ready files that may contain erased words, and restart running exports.

    A restart does not count as an attempt.

    Returns:
        The number of files that expired.
    """
    now = utc_now()
    is_ready = and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at > now)
    jobs = session.scalars(
        select(ExportJob)
        .where(
            ExportJob.dataset.in_(_DATASETS_WITH_TEXT),
            or_(is_ready, ExportJob.state == JobState.RUNNING),
        )
        .with_for_update()
    ).all()
    for job in jobs:
        if job.state == JobState.SUCCEEDED:
            job.expires_at = now
        else:
            leases.requeue(job, due_at=now, counts=False)
    return sum(job.state == JobState.SUCCEEDED for job in jobs)


def expired_files(session: Session, now: datetime) -> dict[str, str]:
    """Map expired exports to their files, the oldest first."""
    rows = session.execute(
        select(ExportJob.id, ExportJob.object_id)
        .where(ExportJob.expires_at <= now, ExportJob.object_id.is_not(None))
        .order_by(ExportJob.expires_at)
        .limit(_FILES_AT_ONCE)
    )
    return {job_id: str(object_id) for job_id, object_id in rows}


def note_deleted(session: Session, files: Mapping[str, str]) -> None:
    for job in session.scalars(select(ExportJob).where(ExportJob.id.in_(files)).with_for_update()):
        if job.object_id == files[job.id]:
            job.object_id = None


def purge(session: Session, *, before: datetime) -> None:
    """Delete the exports that ended before this moment and whose files are deleted."""
    session.execute(
        delete(ExportJob).where(ExportJob.completed_at < before, ExportJob.object_id.is_(None))
    )


def orphaned(session: Session, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these objects that no export names."""
    job_ids = {_job_id_of(object_id) for object_id in object_ids}
    named = session.scalars(select(ExportJob.object_id).where(ExportJob.id.in_(job_ids)))
    return sorted(set(object_ids).difference(named))


def running_object_ids(session: Session) -> set[str]:
    running = select(ExportJob.object_id).where(ExportJob.state == JobState.RUNNING)
    return {object_id for object_id in session.scalars(running) if object_id is not None}


def _is_readable(scopes: Collection[str]) -> ColumnElement[bool]:
    has_text: ColumnElement[Any] = ExportJob.request["include_text"].as_boolean()
    return or_(
        ExportJob.dataset.in_(readable_datasets(scopes, with_text=True)),
        and_(ExportJob.dataset.in_(readable_datasets(scopes)), has_text.is_(False)),
    )


def _has_status(status: ExportStatus, now: datetime) -> ColumnElement[bool]:
    """Match what `status_of` returns."""
    if status is ExportStatus.READY:
        return and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at > now)
    if status is ExportStatus.EXPIRED:
        return and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at <= now)
    return ExportJob.state == status


def column_names(dataset: Dataset) -> list[str]:
    return [column.name for column in catalogue.COLUMNS[dataset]]


def _check(request: ExportRequest) -> None:
    known = column_names(request.dataset)
    unknown = [name for name in request.columns if name not in known]
    if unknown:
        message = f"columns must be among {', '.join(known)}; {unknown[0]!r} is not."
        raise InvalidInput.field("columns", message, code="ENUM")
    if len(set(request.columns)) < len(request.columns):
        raise InvalidInput.field("columns", "Each column may be given only once.")
    filters = set(request.filters)
    if request.dataset is Dataset.USAGE and filters:
        raise InvalidInput.field("filters", "The dataset usage has no filters.", code="UNKNOWN")
    if request.dataset is Dataset.COACHING_SESSIONS and filters - _COACHING_FILTERS:
        message = (
            "The dataset coaching_sessions takes only the filters executiveId and callCenterId."
        )
        raise InvalidInput.field("filters", message, code="UNKNOWN")
    if request.dataset in REPORT_DATASETS and filters - _REPORT_FILTERS:
        message = f"The dataset {request.dataset} takes only the filters of its report."
        raise InvalidInput.field("filters", message, code="UNKNOWN")


def _file_name(file_name: str | None, request: ExportRequest) -> str:
    extension = f".{request.format}"
    name = file_name or f"{request.dataset}-{utc_now():%Y%m%d-%H%M%S}"
    return name if name.casefold().endswith(extension) else name + extension


def _job_id_of(object_id: str) -> str:
    return object_id.rpartition("_")[0]
