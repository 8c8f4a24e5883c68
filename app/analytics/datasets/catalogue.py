"""Every dataset: its columns, and how its rows come batch by batch."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sqlalchemy.orm import Session

from app.analytics.datasets import criteria, evaluations, figures, members, segments, usage
from app.analytics.datasets.cells import Column, Row, Values, by_column
from app.analytics.engine.reader import open_facts
from app.analytics.wishes import Dataset, Wish
from app.core import snapshots
from app.core.runtime import Runtime

COLUMNS: Mapping[Dataset, Sequence[Column]] = {
    Dataset.EVALUATIONS: evaluations.COLUMNS,
    Dataset.CRITERIA: criteria.COLUMNS,
    Dataset.SEGMENTS: segments.COLUMNS,
    Dataset.EXECUTIVES: figures.EXECUTIVE_COLUMNS,
    Dataset.CAMPAIGNS: figures.BOARD_COLUMNS,
    Dataset.CALL_CENTERS: figures.BOARD_COLUMNS,
    Dataset.TRENDS: figures.TREND_COLUMNS,
    Dataset.USAGE: usage.COLUMNS,
}
_OF_EVALUATIONS: Mapping[Dataset, ModuleType] = {
    Dataset.EVALUATIONS: evaluations,
    Dataset.CRITERIA: criteria,
    Dataset.SEGMENTS: segments,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows, column by column, and what part of the whole is done with them, 0 to 1."""

    columns: Sequence[Values]
    done: float

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])


def columns_of(wish: Wish) -> list[Column]:
    """Return the columns that are wanted, in the order that they are wanted in."""
    known = {column.name: column for column in COLUMNS[wish.dataset]}
    return [known[name] for name in wish.columns or known]


def least_rows(session: Session, wish: Wish) -> int:
    """Count the rows that are wanted, as of now, as far as that is known without reading them."""
    dataset = _OF_EVALUATIONS.get(wish.dataset)
    if dataset is None:
        return 0
    return session.scalar(members.only(dataset.LEAST_ROWS, wish).order_by(None)) or 0


def batches(
    runtime: Runtime, wish: Wish, copy: Path, must_end: Callable[[], bool]
) -> Generator[Batch, None, None]:
    """Yield the rows as they are at one moment (see `core.snapshots`).

    Args:
        copy: a file to copy them into; whoever calls deletes it.
    """
    names = [column.name for column in COLUMNS[wish.dataset]]
    places = [names.index(column.name) for column in columns_of(wish)]
    for columns, done in _batches(runtime, wish, copy, must_end):
        if columns:
            yield Batch([columns[place] for place in places], done)


def _batches(
    runtime: Runtime, wish: Wish, copy: Path, must_end: Callable[[], bool]
) -> Iterator[tuple[list[Values], float]]:
    dataset = _OF_EVALUATIONS.get(wish.dataset)
    if dataset is None:
        yield by_column(_few_rows(runtime, wish)), 1.0
        return
    wanted = members.only(dataset.ROWS, wish)
    found = snapshots.batches(runtime.db, wanted, copy, size=dataset.BATCH, must_end=must_end)
    for some, done in found:
        yield dataset.values(some, wish), done


def _few_rows(runtime: Runtime, wish: Wish) -> list[Row]:
    if wish.dataset is Dataset.USAGE:
        with runtime.db.reading() as session:
            return usage.rows(session, wish)
    with open_facts(runtime) as facts:
        return figures.rows(facts, wish)
