"""Export requests as their rows store them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from app.core.clock import iso_utc


class Dataset(StrEnum):
    """What may be exported."""

    EVALUATIONS = "evaluations"
    CRITERIA = "criteria"
    SEGMENTS = "segments"
    EXECUTIVES = "executives"
    CAMPAIGNS = "campaigns"
    CALL_CENTERS = "call_centers"
    TRENDS = "trends"
    USAGE = "usage"


class Format(StrEnum):
    """What an export may be written as."""

    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    XLSX = "xlsx"
    PARQUET = "parquet"


OF_FIGURES = (Dataset.EXECUTIVES, Dataset.CAMPAIGNS, Dataset.CALL_CENTERS, Dataset.TRENDS)


@dataclass(frozen=True, slots=True)
class Wish:
    """The period (open ends are None), the filters and the looks of an export."""

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
        """Return the wish as it is kept."""
        return {
            "start": self.start and iso_utc(self.start),
            "end": self.end and iso_utc(self.end),
            "zone": self.zone.key,
            "filters": dict(self.filters),
            "columns": list(self.columns),
            "delimiter": self.delimiter,
            "include_text": self.include_text,
        }


def scopes_of(wish: Wish) -> tuple[str, ...]:
    """Return the scopes that reading the exported rows over the API would need."""
    if wish.dataset is Dataset.USAGE:
        return ("usage:read",)
    if wish.dataset in OF_FIGURES:
        return ("analytics:read",)
    texts = ("conversations:read",) if wish.include_text else ()
    return ("evaluations:read", *texts)


def wish_from(dataset: str, format_: str, kept: Mapping[str, Any]) -> Wish:
    """Read a wish as it was kept."""
    return Wish(
        dataset=Dataset(dataset),
        format=Format(format_),
        start=kept["start"] and datetime.fromisoformat(kept["start"]),
        end=kept["end"] and datetime.fromisoformat(kept["end"]),
        zone=ZoneInfo(kept["zone"]),
        filters=kept["filters"],
        columns=tuple(kept["columns"]),
        delimiter=kept["delimiter"],
        include_text=kept["include_text"],
    )
