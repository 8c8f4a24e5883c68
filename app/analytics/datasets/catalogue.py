"""Every dataset: its columns, and how its rows come batch by batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from app.analytics.datasets import criteria, evaluations, figures, members, segments, usage
from app.analytics.datasets.cells import Column, Row
from app.analytics.wishes import Dataset, Wish
from app.core.db import Database

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
_PAGED: Mapping[Dataset, tuple[Callable[[Session, Sequence[str], Wish], list[Row]], int]] = {
    Dataset.EVALUATIONS: (evaluations.rows, evaluations.BATCH),
    Dataset.CRITERIA: (criteria.rows, criteria.BATCH),
    Dataset.SEGMENTS: (segments.rows, segments.BATCH),
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows, and what part of the whole is done with them, 0 to 1."""

    rows: Sequence[Row]
    done: float


def columns_of(wish: Wish) -> list[Column]:
    """Return the columns that are wanted, in the order that they are wanted in."""
    known = {column.name: column for column in COLUMNS[wish.dataset]}
    return [known[name] for name in wish.columns or known]


def batches(db: Database, wish: Wish, listing: Path) -> Iterator[Batch]:
    """Yield the rows; each batch is read in a transaction of its own.

    Args:
        listing: a file for the ids of what is exported.
    """
    chosen = _chooser(wish)
    for batch in _batches(db, wish, listing):
        yield Batch(chosen(batch.rows), batch.done)


def _batches(db: Database, wish: Wish, listing: Path) -> Iterator[Batch]:
    if wish.dataset not in _PAGED:
        with db.reading() as session:
            read = usage.rows if wish.dataset is Dataset.USAGE else figures.rows
            rows = read(session, wish)
        yield Batch(rows, 1.0)
        return
    read_page, size = _PAGED[wish.dataset]
    with db.reading() as session:
        total = members.list_into(session, wish, listing)
    seen = 0
    for ids in members.batches(listing, size):
        with db.reading() as session:
            rows = read_page(session, ids, wish)
        seen += len(ids)
        yield Batch(rows, seen / total)


def _chooser(wish: Wish) -> Callable[[Sequence[Row]], Sequence[Row]]:
    if not wish.columns:
        return lambda rows: rows
    names = [column.name for column in COLUMNS[wish.dataset]]
    places = [names.index(name) for name in wish.columns]
    return lambda rows: [[row[place] for place in places] for row in rows]
