"""Spans of time whose facts are summed: hours, days, 4 and 32 days of UTC, one inside the other.

A span's cells are sums of its facts. They are good while its row says `READY`: whoever writes a
fact makes the spans around it `STALE` in the same transaction, and from then on they are read
from smaller spans or from the facts, until `folding.py` has summed them anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from app.analytics.models import FactSpan

HOUR_US = 3_600_000_000
# Hours of each level; every one is a multiple of the one before.
LEVELS = (1, 24, 96, 768)
_STEP = len(LEVELS)
# Rows between two spans that are wanted may be read for nothing, rather than ask once more.
_BRIDGED = 3

# What the state of a span may be; anything higher is the ticket of who has taken it for folding.
READY, STALE = 0, 1

_MARK = (
    update(FactSpan)
    .where(FactSpan.id.in_(bindparam("spans", expanding=True)), FactSpan.state != STALE)
    .values(state=STALE)
)

# From (inclusive) to (exclusive), in microseconds since 1970.
Range: TypeAlias = tuple[int, int]


def id_of(level: int, number: int) -> int:
    """Return the id of the n-th span of a level; those of one level are `_STEP` apart."""
    return number * _STEP + level


def number_at(level: int, at: int) -> int:
    """Return which span of a level a moment lies in."""
    return at // (LEVELS[level] * HOUR_US)


def number_of(span: int) -> int:
    """Return which one of its level a span is."""
    return span // _STEP


def range_of(span: int) -> Range:
    """Return from when to when a span lasts."""
    number, level = divmod(span, _STEP)
    length = LEVELS[level] * HOUR_US
    return number * length, (number + 1) * length


def level_of(span: int) -> int:
    """Return the level of a span."""
    return span % _STEP


def around(moments: Iterable[int]) -> set[int]:
    """Return the spans of every level that moments lie in."""
    return {id_of(level, number_at(level, at)) for at in moments for level in range(_STEP)}


def mark_stale(session: Session, moments: Iterable[int]) -> None:
    """Say that facts of these moments have changed; called after the facts are written."""
    session.connection().execute(_MARK, {"spans": list(around(moments))})


def mark_all_stale(session: Session) -> None:
    """Have every span folded anew."""
    session.execute(update(FactSpan).values(state=STALE))


class Cover:
    """What a question is to be read from: the largest spans that are good, and facts for the rest.

    `places` maps the id of a span to the place of the range that it lies in; `facts` are ranges
    with their place.
    """

    def __init__(self, session: Session, ranges: Sequence[Range], view: int) -> None:
        self.places: dict[int, int] = {}
        self.facts: list[tuple[Range, int]] = []
        gaps = [(each, place) for place, each in enumerate(ranges)]
        for level in reversed(range(_STEP)):
            ready = _ready(session, gaps, level, view)
            gaps = [
                (rest, place)
                for each, place in gaps
                for rest in self._take(each, place, level, ready)
            ]
        self.facts = gaps

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of spans that follow each other, level by level."""
        for level in range(_STEP):
            chosen = sorted(span for span in self.places if level_of(span) == level)
            yield from _joined([(span, span) for span in chosen])

    def _take(self, gap: Range, place: int, level: int, ready: set[int]) -> Iterator[Range]:
        """Take the spans that fit into a gap; yield what is left of it."""
        begin, end = gap
        length = LEVELS[level] * HOUR_US
        for number in range(-(-begin // length), end // length):
            span = id_of(level, number)
            if span in ready:
                self.places[span] = place
                if begin < number * length:
                    yield begin, number * length
                begin = (number + 1) * length
        if begin < end:
            yield begin, end


def _ready(session: Session, gaps: Sequence[tuple[Range, int]], level: int, view: int) -> set[int]:
    length = LEVELS[level] * HOUR_US
    fitting = [
        (id_of(level, -(-begin // length)), id_of(level, end // length - 1))
        for (begin, end), _ in gaps
        if -(-begin // length) < end // length
    ]
    found: set[int] = set()
    for first, last in _joined(fitting):
        found.update(
            session.scalars(
                select(FactSpan.id).where(
                    FactSpan.id.between(first, last),
                    FactSpan.id % _STEP == level,
                    FactSpan.state == READY,
                    FactSpan.views.op("&")(1 << view) != 0,
                )
            )
        )
    return found


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if joined and first - joined[-1][1] <= _BRIDGED * _STEP:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return joined
