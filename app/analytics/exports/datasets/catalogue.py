"""Catalogue of the datasets: their columns, and their rows in batches."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Select
from sqlalchemy.orm import Session

from app.analytics.engine.reader import open_facts
from app.analytics.enums import Dataset
from app.analytics.exports import snapshots
from app.analytics.exports.datasets import (
    coaching,
    criteria,
    evaluations,
    moments,
    reports,
    segments,
    usage,
)
from app.analytics.exports.datasets.columns import Column, Row, Values, by_column
from app.analytics.exports.datasets.large import LargeDataset
from app.analytics.exports.request import ExportRequest
from app.core.runtime import Runtime
from app.evaluations import listing
from app.evaluations.models import Evaluation

_LARGE: Mapping[Dataset, LargeDataset] = {
    Dataset.EVALUATIONS: evaluations.DATASET,
    Dataset.CRITERIA: criteria.DATASET,
    Dataset.SEGMENTS: segments.DATASET,
    Dataset.COACHING: coaching.DATASET,
    Dataset.MOMENTS: moments.DATASET,
}
COLUMNS: Mapping[Dataset, Sequence[Column]] = {
    **{name: dataset.columns for name, dataset in _LARGE.items()},
    Dataset.EXECUTIVES: reports.EXECUTIVE_COLUMNS,
    Dataset.CAMPAIGNS: reports.LEADERBOARD_COLUMNS,
    Dataset.CALL_CENTERS: reports.LEADERBOARD_COLUMNS,
    Dataset.TRENDS: reports.TREND_COLUMNS,
    Dataset.USAGE: usage.COLUMNS,
}
_EVALUATION = Evaluation.__table__.c


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    """Some rows, column by column, and the share of all rows that is read after them, 0 to 1."""

    columns: Sequence[Values]
    progress: float

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.columns[0])


def columns_of(request: ExportRequest) -> list[Column]:
    """Return the requested columns in the requested order; all of them by default."""
    known = {column.name: column for column in COLUMNS[request.dataset]}
    return [known[name] for name in request.columns or known]


def least_rows(session: Session, request: ExportRequest) -> int:
    """Return a lower bound of the number of rows now; 0 for small datasets."""
    dataset = _LARGE.get(request.dataset)
    if dataset is None or dataset.least_rows is None:
        return 0
    return session.scalar(_matching(dataset.least_rows, request).order_by(None)) or 0


def batches(
    runtime: Runtime, request: ExportRequest, snapshot: Path, must_end: Callable[[], bool]
) -> Generator[ColumnBatch, None, None]:
    """Yield the rows as of one moment.

    Args:
        snapshot: a file for a copy of the rows; the caller deletes it.
        must_end: stops the copying when it returns true.
    """
    names = [column.name for column in COLUMNS[request.dataset]]
    places = [names.index(column.name) for column in columns_of(request)]
    for columns, progress in _batches(runtime, request, snapshot, must_end):
        if columns:
            yield ColumnBatch([columns[place] for place in places], progress)


def _batches(
    runtime: Runtime, request: ExportRequest, snapshot: Path, must_end: Callable[[], bool]
) -> Iterator[tuple[list[Values], float]]:
    dataset = _LARGE.get(request.dataset)
    if dataset is None:
        yield by_column(_small_dataset(runtime, request)), 1.0
        return
    statement = _matching(dataset.statement, request)
    for rows, progress in snapshots.batches(
        runtime.db, statement, snapshot, size=dataset.batch_size, must_end=must_end
    ):
        yield dataset.values(rows, request), progress


def _small_dataset(runtime: Runtime, request: ExportRequest) -> list[Row]:
    if request.dataset is Dataset.USAGE:
        with runtime.db.reading() as session:
            return usage.rows(session, request)
    with open_facts(runtime) as facts:
        return reports.rows(facts, request)


def _matching(statement: Select[Any], request: ExportRequest) -> Select[Any]:
    """Restrict a statement to the evaluations that match the request, the oldest first."""
    filters: dict[str, Any] = dict(request.filters)
    if request.start is not None:
        filters["start"] = request.start
    if request.end is not None:
        filters["end"] = request.end
    if filters.pop("current", True):
        # This form uses no index: nearly every row is current, and the order is by id.
        statement = statement.where(_EVALUATION.is_current.is_not(False))
    conditions = listing.conditions(current=False, **filters)
    return statement.where(*conditions).order_by(_EVALUATION.id)
