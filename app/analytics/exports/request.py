"""Export requests, and the form in which their rows store them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.engine.selection import moment_of
from app.analytics.enums import Dataset, Format
from app.analytics.models import ExportJob
from app.core.clock import iso_utc
from app.core.errors import InvalidInput

REPORT_DATASETS = (Dataset.EXECUTIVES, Dataset.CAMPAIGNS, Dataset.CALL_CENTERS, Dataset.TRENDS)


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The dataset, period (an open end is None), filters and format of an export."""

    dataset: Dataset
    format: Format
    start: datetime | None = None
    end: datetime | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    filters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    delimiter: str = "comma"
    include_text: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the stored form; dataset and format have columns of their own."""
        return {
            "start": self.start and iso_utc(self.start),
            "end": self.end and iso_utc(self.end),
            "zone": self.zone.key,
            "filters": dict(self.filters),
            "columns": list(self.columns),
            "delimiter": self.delimiter,
            "include_text": self.include_text,
        }


def request_from_body(body: Mapping[str, Any]) -> ExportRequest:
    """Read the request from a body that the schema of the API has loaded."""
    zone = body["timezone"]
    start, end = (
        moment_of(body[name], zone) if name in body else None for name in ("start", "end")
    )
    if start is not None and end is not None and start >= end:
        raise InvalidInput.field("to", "to must be later than from.", code="RANGE")
    return ExportRequest(
        dataset=Dataset(body["dataset"]),
        format=Format(body["format"]),
        start=start,
        end=end,
        zone=zone,
        filters=body["filters"],
        columns=tuple(body.get("columns", ())),
        delimiter=body["delimiter"],
        include_text=body["include_text"],
    )


def required_scopes(request: ExportRequest) -> tuple[str, ...]:
    """Return the scopes that reading the exported rows over the API requires."""
    texts = ("conversations:read",) if request.include_text else ()
    if request.dataset is Dataset.USAGE:
        return ("usage:read",)
    if request.dataset is Dataset.COACHING_SESSIONS:
        return ("coaching:read", *texts)
    if request.dataset in REPORT_DATASETS:
        return ("analytics:read",)
    return ("evaluations:read", *texts)


def request_of(job: ExportJob) -> ExportRequest:
    stored = job.request
    return ExportRequest(
        dataset=Dataset(job.dataset),
        format=Format(job.format),
        start=stored["start"] and datetime.fromisoformat(stored["start"]),
        end=stored["end"] and datetime.fromisoformat(stored["end"]),
        zone=ZoneInfo(stored["zone"]),
        filters=stored["filters"],
        columns=tuple(stored["columns"]),
        delimiter=stored["delimiter"],
        include_text=stored["include_text"],
    )
