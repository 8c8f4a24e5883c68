"""Tallies: what is to be known of any number of facts, so that tallies can be added up.

The counts and sums of a tally lie side by side in one whole number, 64 bits for each: two tallies
are added by one addition, and no sum of fewer than 2^32 facts can reach its neighbour. Scores and
first responses are counted value by value, so that percentiles come out of any sum of tallies;
scores exactly, first responses to three significant digits.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from app.analytics import cell_bytes, figures, layouts
from app.analytics.figures import COMPLETED, FIELDS, NULL, scale_of
from app.evaluations.enums import RESOLUTIONS, TRENDS

# Below this a feeling is neither good nor bad, as with the trend (scorecards, section 2).
_NEUTRAL = 0.1
_MEASURED = (
    "score",
    "passed",
    "auto_failed",
    "compliance_score",
    "customer_sentiment",
    "duration_seconds",
    "talk_ratio",
    "silence_percent",
    "dead_air_count",
    "interruptions",
    "agent_wpm",
    "first_response_seconds",
)
# In the order in which `tally_of` counts them.
_LANES = (
    "evaluations",
    *(f"status:{each}" for each in figures.STATUSES),
    *(f"source_type:{each}" for each in figures.SOURCES),
    *(f"{kind}:{name}" for name in _MEASURED for kind in ("sum", "count")),
    *("positive", "negative"),
    *(f"sentiment_trend:{each}" for each in TRENDS),
    *(f"resolution:{each}" for each in RESOLUTIONS),
)
_AT = {name: place for place, name in enumerate(_LANES)}
_WORDS: Mapping[str, Sequence[str]] = {
    "status": figures.STATUSES,
    "source_type": figures.SOURCES,
    "sentiment_trend": TRENDS,
    "resolution": RESOLUTIONS,
}
_MIDDLE = scale_of("customer_sentiment")
_EDGE = round(_NEUTRAL * _MIDDLE)
_WIDTH = len(FIELDS)
_PLACE = {name: place for place, name in enumerate(FIELDS)}
_STATUS = _PLACE["status"]
_MEASURED_AT = [_PLACE[name] for name in _MEASURED]
_BITS = 64
_ONE = (1 << _BITS) - 1


class Detail(StrEnum):
    """What a tally may know besides counts and sums; a column of the cells."""

    LAST_MS = "last_ms"
    SCORES = "scores"
    WAITS = "waits"
    TOPICS = "topics"
    SHARES = "shares"


# What can be taken off again, besides counts and sums.
SUBTRACTED = frozenset({Detail.SHARES})
# What is counted value by value, and how a cell has it.
_COUNTED: Mapping[Detail, Callable[[bytes], Iterable[tuple[Any, int]]]] = {
    Detail.SCORES: cell_bytes.pairs,
    Detail.WAITS: cell_bytes.pairs,
    Detail.TOPICS: cell_bytes.topics,
    Detail.SHARES: cell_bytes.shares,
}


class Tally:
    """Counts and sums of facts; all but the first three kinds of lanes are of completed ones."""

    __slots__ = ("last_ms", "scores", "shares", "sums", "topics", "waits")

    def __init__(self) -> None:
        self.sums = 0
        self.last_ms = 0
        self.scores: dict[int, int] = defaultdict(int)
        self.waits: dict[int, int] = defaultdict(int)
        self.topics: dict[str, int] = defaultdict(int)
        self.shares: dict[int, int] = defaultdict(int)

    def add(self, other: "Tally", sign: int = 1) -> None:
        """Add what another one has counted; with -1 take it off, of `SUBTRACTED` alone."""
        self.sums += sign * other.sums
        self.last_ms = max(self.last_ms, other.last_ms)
        for name in _COUNTED:
            _merge(getattr(self, name), getattr(other, name).items(), sign)

    def add_stored(self, row: Any, details: Collection[Detail], sign: int = 1) -> None:
        """Add a cell, or take it off, with those details that were read."""
        self.sums += sign * int.from_bytes(row.sums, "little")
        if Detail.LAST_MS in details:
            self.last_ms = max(self.last_ms, row.last_ms)
        for name, decoded in _COUNTED.items():
            if name in details:
                _merge(getattr(self, name), decoded(getattr(row, name)), sign)

    def stored(self) -> dict[str, Any]:
        """Return the columns of a cell."""
        return {
            "last_ms": self.last_ms,
            "sums": self.sums.to_bytes(len(_LANES) * _BITS // 8, "little"),
            "scores": cell_bytes.of_pairs(self.scores),
            "waits": cell_bytes.of_pairs(self.waits),
            "topics": cell_bytes.of_topics(self.topics),
            "shares": cell_bytes.of_shares(self.shares),
        }

    def number(self, lane: str) -> int:
        """Return what a lane has."""
        return self.sums >> (_AT[lane] * _BITS) & _ONE

    @property
    def completed(self) -> int:
        """How many facts are of completed evaluations."""
        return self.number("status:completed")

    def total(self, name: str) -> tuple[int, int]:
        """Return the sum of a figure as it is stored, and how many facts have it."""
        return self.number(f"sum:{name}"), self.number(f"count:{name}")

    def words(self, name: str) -> dict[str, int]:
        """Count each word of a closed list; those that do not occur are 0."""
        return {word: self.number(f"{name}:{word}") for word in _WORDS[name]}


def tally_of(rows: Sequence[Any], details: Collection[Detail]) -> Tally:
    """Tally facts: rows with `figures`, and for details `layout`, `shares` and `topics`."""
    tally = Tally()
    numbers = figures.taken(b"".join([row.figures for row in rows]), "I")
    statuses = numbers[_STATUS::_WIDTH]
    lanes = [len(rows)]
    lanes += [statuses.count(code) for code in range(len(figures.STATUSES))]
    sources = numbers[_PLACE["source_type"] :: _WIDTH]
    lanes += [sources.count(code) for code in range(len(figures.SOURCES))]
    done = rows
    if statuses.count(COMPLETED) != len(rows):
        done = [row for row, status in zip(rows, statuses, strict=True) if status == COMPLETED]
        numbers = figures.taken(b"".join([row.figures for row in done]), "I")
    if done:
        _measure(lanes, numbers)
        if not SUBTRACTED.issuperset(details):
            _count_values(tally, numbers)
        if details:
            _count_shares(tally, done)
    tally.sums = _packed(lanes)
    return tally


def significant(wait: int) -> int:
    """Round a whole number to three significant digits."""
    step = 1
    while wait >= 1000 * step:
        step *= 10
    return (wait + step // 2) // step * step


def _measure(lanes: list[int], numbers: figures.Numbers) -> None:
    """Add the lanes of what is measured, in their order."""
    for place in _MEASURED_AT:
        column = numbers[place::_WIDTH]
        missing = column.count(NULL)
        lanes += (sum(column) - NULL * missing, len(column) - missing)
    felt = numbers[_PLACE["customer_sentiment"] :: _WIDTH]
    lanes.append(sum([_MIDDLE + _EDGE <= each < NULL for each in felt]))
    lanes.append(sum([each <= _MIDDLE - _EDGE for each in felt]))
    trends = numbers[_PLACE["sentiment_trend"] :: _WIDTH]
    lanes += [trends.count(code) for code in range(len(TRENDS))]
    ends = numbers[_PLACE["resolution"] :: _WIDTH]
    lanes += [ends.count(code) for code in range(len(RESOLUTIONS))]


def _count_values(tally: Tally, numbers: figures.Numbers) -> None:
    scores = Counter(numbers[_PLACE["score"] :: _WIDTH])
    del scores[NULL]
    _merge(tally.scores, scores.items())
    waits = numbers[_PLACE["first_response_seconds"] :: _WIDTH]
    _merge(tally.waits, Counter([significant(each) for each in waits if each != NULL]).items())
    ends_s = numbers[_PLACE["completed_s"] :: _WIDTH]
    ends_ms = numbers[_PLACE["completed_ms"] :: _WIDTH]
    ends = zip(ends_s, ends_ms, strict=True)
    tally.last_ms = max((s * 1000 + ms for s, ms in ends if s != NULL), default=0)


def _count_shares(tally: Tally, rows: Sequence[Any]) -> None:
    by_layout: dict[int, list[bytes]] = {}
    for row in rows:
        if row.topics:
            _merge(tally.topics, ((topic, 1) for topic in row.topics.split("\n")))
        if row.layout is not None:
            by_layout.setdefault(row.layout, []).append(row.shares)
    for layout, several in by_layout.items():
        numbers = figures.taken(b"".join(several), "H")
        width = len(several[0]) // 2
        lanes = []
        for lane in range(width):
            column = numbers[lane::width]
            missing = column.count(layouts.NULL)
            lanes += [sum(column) - layouts.NULL * missing, len(column) - missing]
        tally.shares[layout] = _packed(lanes)


def share_lanes(packed: int, width: int) -> list[int]:
    """Return sum and count, one after the other, of the shares in so many lanes of a layout."""
    return list(figures.taken(packed.to_bytes(2 * width * _BITS // 8, "little"), "Q"))


def _merge(mine: dict[Any, int], theirs: Iterable[tuple[Any, int]], sign: int = 1) -> None:
    # A plain dict with a default takes half the time of a `Counter`.
    for key, count in theirs:
        mine[key] += sign * count


def _packed(lanes: Sequence[int]) -> int:
    return int.from_bytes(figures.joined(array("Q", lanes)), "little")
