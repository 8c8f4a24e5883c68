"""The figures of a fact: whole numbers of four bytes, side by side, and how they are read again.

Fractions are kept times `SCALE`, which is exact: nothing that a judge writes has more than four
places. A first response is kept to a hundredth of a second, so that months fit.
"""

import sys
from array import array
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from app.core.clock import as_utc
from app.evaluations.enums import RESOLUTIONS, TRENDS, Channel, SourceType, Status

Numbers: TypeAlias = "array[int]"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCALE = 10_000
NULL = 2**32 - 1
STATUSES = [str(each) for each in Status]
CHANNELS = [str(each) for each in Channel]
SOURCES = [str(each) for each in SourceType]
COMPLETED = STATUSES.index(Status.COMPLETED)

FIELDS = (
    "at_s",
    "completed_s",
    "completed_ms",
    "status",
    "source_type",
    "channel",
    "score",
    "passed",
    "auto_failed",
    "compliance_score",
    "customer_sentiment",
    "sentiment_trend",
    "resolution",
    "duration_seconds",
    "talk_ratio",
    "silence_percent",
    "dead_air_count",
    "interruptions",
    "agent_wpm",
    "first_response_seconds",
)
_PLACE = {name: index for index, name in enumerate(FIELDS)}
_SCALES = {
    "compliance_score": SCALE,
    "customer_sentiment": SCALE,
    "talk_ratio": SCALE,
    "silence_percent": SCALE,
    "agent_wpm": SCALE,
    "first_response_seconds": 100,
}
# Feelings are from -1 to 1; the numbers are not negative.
_OFFSETS = {"customer_sentiment": 1}
METRICS = {
    "talk_ratio": "talkRatio",
    "silence_percent": "silencePercent",
    "dead_air_count": "deadAirCount",
    "interruptions": "interruptionsByAgent",
    "agent_wpm": "agentWpm",
    "first_response_seconds": "firstResponseSeconds",
}
_WORDS: Mapping[str, Sequence[str]] = {
    "status": STATUSES,
    "source_type": SOURCES,
    "channel": CHANNELS,
    "sentiment_trend": TRENDS,
    "resolution": RESOLUTIONS,
}


def packed(evaluation: Any, at_s: int, metrics: Mapping[str, Any]) -> bytes:
    """Pack the figures of an evaluation; `metrics` is the flat map of its results."""
    ended_ms = None if evaluation.completed_at is None else _milliseconds(evaluation.completed_at)
    times = {
        "at_s": at_s,
        "completed_s": None if ended_ms is None else ended_ms // 1000,
        "completed_ms": None if ended_ms is None else ended_ms % 1000,
    }
    values = []
    for name in FIELDS:
        if name in times:
            value: Any = times[name]
        elif name in METRICS:
            value = metrics.get(METRICS[name])
        else:
            value = getattr(evaluation, name)
        values.append(_number(name, value))
    return joined(array("I", values))


def joined(numbers: Numbers) -> bytes:
    """Write numbers as bytes, least significant first, whatever the machine."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def taken(data: bytes, width: str) -> Numbers:
    """Read numbers from bytes: of eight (`Q`), four (`I`) or two (`H`) each."""
    numbers = array(width)
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def unpacked(data: bytes) -> dict[str, Any]:
    """Return the figures of one fact as its evaluation has them."""
    numbers = taken(data, "I")
    return {name: _value(name, numbers[place]) for name, place in _PLACE.items()}


def to_value(name: str, stored: float) -> float:
    """Bring a number, or a mean of numbers, from the scale in which it is stored."""
    return stored / _SCALES.get(name, 1) - _OFFSETS.get(name, 0)


def scale_of(name: str) -> int:
    """Return how many stored steps one unit has."""
    return _SCALES.get(name, 1)


def _milliseconds(moment: datetime) -> int:
    return (as_utc(moment) - EPOCH) // timedelta(milliseconds=1)


def _number(name: str, value: Any) -> int:
    if value is None:
        return NULL
    if name in _WORDS:
        return _WORDS[name].index(value) if value in _WORDS[name] else NULL
    number = round(float(value + _OFFSETS.get(name, 0)) * _SCALES.get(name, 1))
    return min(max(number, 0), NULL - 1)


def _value(name: str, number: int) -> Any:
    if number == NULL:
        return None
    if name in _WORDS:
        return _WORDS[name][number]
    if name in _SCALES:
        return round(to_value(name, number), 4)
    return number
