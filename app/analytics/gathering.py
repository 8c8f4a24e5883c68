"""Gathering tallies: from the cells of spans where these are good, from the facts elsewhere."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.analytics.models import Fact, FactCell, FactCode
from app.analytics.spans import Cover, Gap, Into, Range, gaps_of
from app.analytics.tallies import SUBTRACTED, Detail, Tally, tally_of
from app.analytics.views import TOPIC, View, cell_column, fact_column

# So many facts are held at once: memory stays bounded.
_HELD = 50_000
_OF_FACTS = (Fact.layout, Fact.shares, Fact.topics)

# The place of a range, and then what the facts of a tally have in common.
Key: TypeAlias = tuple[Any, ...]
Chosen: TypeAlias = Mapping[str, Collection[int]]


class Gathering:
    """Tallies told apart by some names, of the facts that are chosen."""

    def __init__(
        self,
        session: Session,
        names: Sequence[str],
        chosen: Chosen,
        details: Collection[Detail] = tuple(Detail),
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
        rest = gaps_of(ranges)
        if view is not None and not from_facts:
            subtracting = SUBTRACTED.issuperset(self._details)
            cover = Cover(self._session, ranges, view, subtracting=subtracting)
            self._add_cells(view, cover)
            rest = cover.facts
        if rest:
            self._add_facts(rest)
        return self._found

    def _add_cells(self, view: View, cover: Cover) -> None:
        columns = [cell_column(view, name) for name in self._names]
        details = [getattr(FactCell, detail) for detail in self._details]
        wanted = select(FactCell.span, *columns, FactCell.sums, *details).where(
            FactCell.view == view,
            FactCell.span.between(bindparam("first"), bindparam("end")),
            *(cell_column(view, name).in_(codes) for name, codes in self._chosen.items()),
        )
        if TOPIC in self._names:
            wanted = wanted.join(FactCode, FactCode.code == FactCell.member)
        last = len(columns) + 1
        for first, end in cover.runs():
            for row in self._session.execute(wanted, {"first": first, "end": end}):
                for place, sign in cover.into.get(row[0], ()):
                    self._found[(place, *row[1:last])].add_stored(row, self._details, sign)

    def _add_facts(self, gaps: Sequence[Gap]) -> None:
        columns = [fact_column(name).label(f"key_{name}") for name in self._names]
        wanted = select(*columns, Fact.figures, *(_OF_FACTS if self._details else ())).where(
            Fact.at >= bindparam("begin"),
            Fact.at < bindparam("end"),
            *(fact_column(name).in_(codes) for name, codes in self._chosen.items()),
        )
        last = len(columns)
        held: dict[tuple[Into, Key], list[Any]] = defaultdict(list)
        count = 0
        for (begin, end), several in gaps:
            into = tuple(several)
            for row in self._session.execute(wanted, {"begin": begin, "end": end}):
                held[into, row[:last]].append(row)
                count += 1
                if count % _HELD == 0:
                    self._tally(held)
        self._tally(held)

    def _tally(self, held: dict[tuple[Into, Key], list[Any]]) -> None:
        for (into, key), rows in held.items():
            tally = tally_of(rows, self._details)
            for own in self._told_apart(key):
                for place, sign in into:
                    self._found[(place, *own)].add(tally, sign)
        held.clear()

    def _told_apart(self, key: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """Yield the keys of facts: one for each of their topics, where topics are told apart."""
        if TOPIC not in self._names:
            yield key
        elif key[0]:
            yield from ((topic, *key[1:]) for topic in key[0].split("\n"))
