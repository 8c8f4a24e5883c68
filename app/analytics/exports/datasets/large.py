"""Large datasets: those that are read from the evaluations, batch by batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select

from app.analytics.exports.datasets.columns import Column, Values
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.snapshots import Rows


@dataclass(frozen=True, slots=True)
class LargeDataset:
    """A dataset with rows of every evaluation.

    `values` turns up to `batch_size` rows of the statement into the values of the columns.
    `least_rows` counts rows that the dataset has at least; None if it may have none.
    """

    columns: tuple[Column, ...]
    statement: Select[Any]
    batch_size: int
    values: Callable[[Rows, ExportRequest], list[Values]]
    least_rows: Select[Any] | None = None
