"""List of exports, without those whose rows the caller may not read."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.analytics.enums import Dataset, ExportStatus, Format
from app.analytics.exports.request import ExportRequest, required_scopes
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.jobs.leases import JobState

_SORTABLE = {"created_at": ExportJob.queued_at}


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
        dataset: only exports of this dataset.
        status: only exports in one of these states; by default all.
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
    """Return the datasets whose rows these scopes may read."""
    requests = [ExportRequest(dataset, Format.CSV, include_text=with_text) for dataset in Dataset]
    return [
        request.dataset for request in requests if set(required_scopes(request)).issubset(scopes)
    ]


def _is_readable(scopes: Collection[str]) -> ColumnElement[bool]:
    has_text: ColumnElement[Any] = ExportJob.request["include_text"].as_boolean()
    return or_(
        ExportJob.dataset.in_(readable_datasets(scopes, with_text=True)),
        and_(ExportJob.dataset.in_(readable_datasets(scopes)), has_text.is_(False)),
    )


def _has_status(status: ExportStatus, now: datetime) -> ColumnElement[bool]:
    """Match what `service.status_of` returns."""
    if status is ExportStatus.READY:
        return and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at > now)
    if status is ExportStatus.EXPIRED:
        return and_(ExportJob.state == JobState.SUCCEEDED, ExportJob.expires_at <= now)
    return ExportJob.state == status
