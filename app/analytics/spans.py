"""Spans of time whose facts are summed: hours, days, 4 and 32 days of UTC, one inside the other.

A span's cells are sums of its facts. They are good while its row says `READY`: whoever writes a
fact makes the spans around it `STALE` in the same transaction, and from then on they are read
from smaller spans or from the facts, until `folding.py` has summed them anew.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from app.analytics.models import FactSpan

HOUR_US = 3_600_000_000
# Hours of each level; every one is a multiple of the one before.
LEVELS = (1, 24, 96, 768)
_STEP = len(LEVELS)
_DAY = 1
_DAY_US = LEVELS[_DAY] * HOUR_US
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
# Where something counts: the places of ranges, with 1 where it is added and -1 where taken off.
Into: TypeAlias = Sequence[tuple[int, int]]
Gap: TypeAlias = tuple[Range, Into]


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

    `into` maps the id of a span to the ranges that it counts in; `facts` are what is left.

    Args:
        subtracting: whether a long range may be read as the days nearest to it, less what these
            have too much.
    """

    def __init__(
        self, session: Session, ranges: Sequence[Range], view: int, *, subtracting: bool
    ) -> None:
        self.into: dict[int, list[tuple[int, int]]] = defaultdict(list)
        gaps = _to_days(session, ranges, view) if subtracting else gaps_of(ranges)
        for level in reversed(range(_STEP)):
            ready = _ready(session, gaps, level, view)
            gaps = [rest for gap in gaps for rest in self._take(gap, level, ready)]
        self.facts = gaps

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of spans that follow each other, level by level."""
        for level in range(_STEP):
            chosen = sorted(span for span in self.into if level_of(span) == level)
            yield from _joined([(span, span) for span in chosen])

    def _take(self, gap: Gap, level: int, ready: set[int]) -> Iterator[Gap]:
        """Take the spans that fit into a gap; yield what is left of it."""
        (begin, end), into = gap
        length = LEVELS[level] * HOUR_US
        for number in range(-(-begin // length), end // length):
            span = id_of(level, number)
            if span in ready:
                self.into[span] += into
                if begin < number * length:
                    yield (begin, number * length), into
                begin = (number + 1) * length
        if begin < end:
            yield (begin, end), into


def gaps_of(ranges: Sequence[Range]) -> list[Gap]:
    """Return ranges as gaps that are to be covered, each for itself."""
    return [(each, ((place, 1),)) for place, each in enumerate(ranges)]


def _to_days(session: Session, ranges: Sequence[Range], view: int) -> list[Gap]:
    """Move the ends of long ranges to the nearest end of a day, and add or take off what is between.

    What is between is read once for both of the ranges that meet there.
    """
    touched = [((begin // _DAY_US * _DAY_US, end + _DAY_US), ()) for begin, end in ranges]
    days = _ready(session, touched, _DAY, view)
    moved: dict[Range, list[tuple[int, int]]] = defaultdict(list)
    for place, (begin, end) in enumerate(ranges):
        inner = [_nearest(each, days) if end - begin >= _DAY_US else each for each in (begin, end)]
        for first, last in pairwise((begin, *inner, end)):
            if first != last:
                within = min(first, last), max(first, last)
                moved[within].append((place, 1 if first < last else -1))
    return sorted(moved.items())


def _nearest(moment: int, days: set[int]) -> int:
    is_ready = id_of(_DAY, moment // _DAY_US) in days
    return (moment + _DAY_US // 2) // _DAY_US * _DAY_US if is_ready else moment


def _ready(session: Session, gaps: Sequence[Gap], level: int, view: int) -> set[int]:
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
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined
