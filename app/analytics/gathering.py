"""Gathering tallies: from the cells of spans where these are good, from the facts elsewhere."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.analytics.models import Fact, FactCell, FactCode
from app.analytics.spans import Cover, Range
from app.analytics.tallies import Tally, tally_of
from app.analytics.views import TOPIC, View, cell_column, fact_column

# So many facts are held at once: memory stays bounded.
_HELD = 50_000
_OF_CELLS = (FactCell.last_ms, FactCell.scores, FactCell.waits, FactCell.topics, FactCell.shares)
_OF_FACTS = (Fact.layout, Fact.shares, Fact.topics)

# The place of a range, and then what the facts of a tally have in common.
Key: TypeAlias = tuple[Any, ...]
Chosen: TypeAlias = Mapping[str, Collection[int]]


class Gathering:
    """Tallies told apart by some names, of the facts that are chosen."""

    def __init__(
        self, session: Session, names: Sequence[str], chosen: Chosen, *, details: bool = True
    ) -> None:
        self._session = session
        self._names = names
        self._chosen = chosen
        self._details = details
        self._found: dict[Key, Tally] = defaultdict(Tally)

    def gather(
        self, view: View | None, ranges: Sequence[Range], *, from_facts: bool = False
    ) -> dict[Key, Tally]:
        """Tally what lies in each of the ranges; without a view, or when told so, from facts alone."""
        rest = [(each, place) for place, each in enumerate(ranges)]
        if view is not None and not from_facts:
            cover = Cover(self._session, ranges, view)
            self._add_cells(view, cover)
            rest = cover.facts
        if rest:
            self._add_facts(rest)
        return self._found

    def _add_cells(self, view: View, cover: Cover) -> None:
        columns = [cell_column(view, name) for name in self._names]
        wanted = select(
            FactCell.span, *columns, FactCell.sums, *(_OF_CELLS if self._details else ())
        ).where(
            FactCell.view == view,
            FactCell.span.between(bindparam("first"), bindparam("end")),
            *(cell_column(view, name).in_(codes) for name, codes in self._chosen.items()),
        )
        if TOPIC in self._names:
            wanted = wanted.join(FactCode, FactCode.code == FactCell.member)
        last = len(columns) + 1
        for first, end in cover.runs():
            for row in self._session.execute(wanted, {"first": first, "end": end}):
                place = cover.places.get(row[0])
                if place is not None:
                    self._found[(place, *row[1:last])].add_stored(row, details=self._details)

    def _add_facts(self, ranges: Sequence[tuple[Range, int]]) -> None:
        columns = [fact_column(name).label(f"key_{name}") for name in self._names]
        wanted = select(*columns, Fact.figures, *(_OF_FACTS if self._details else ())).where(
            Fact.at >= bindparam("begin"),
            Fact.at < bindparam("end"),
            *(fact_column(name).in_(codes) for name, codes in self._chosen.items()),
        )
        last = len(columns)
        held: dict[Key, list[Any]] = defaultdict(list)
        count = 0
        for (begin, end), place in ranges:
            for row in self._session.execute(wanted, {"begin": begin, "end": end}):
                held[(place, *row[:last])].append(row)
                count += 1
                if count % _HELD == 0:
                    self._tally(held)
        self._tally(held)

    def _tally(self, held: dict[Key, list[Any]]) -> None:
        for (place, *key), rows in held.items():
            for own in self._told_apart(key):
                tally = tally_of(rows, details=self._details)
                if (place, *own) in self._found:
                    self._found[(place, *own)].add(tally)
                else:
                    self._found[(place, *own)] = tally
        held.clear()

    def _told_apart(self, key: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """Yield the keys of facts: one for each of their topics, where topics are told apart."""
        if TOPIC not in self._names:
            yield key
        elif key[0]:
            yield from ((topic, *key[1:]) for topic in key[0].split("\n"))
