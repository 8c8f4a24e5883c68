"""Sentiment by quarter of a conversation, as numbers and as the points of a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.formatting import signed

_WIDTH, _HEIGHT = 400, 60


@dataclass(frozen=True, slots=True)
class SentimentLine:
    """The sentiment of one side: its numbers by quarter, and the points of its line."""

    role: str
    values: Sequence[str]
    points: str
    trend: str


def quarters_of(sentiment: Mapping[str, Any] | None) -> list[SentimentLine]:
    """Return the lines of customer and agent, without a side that was never measured."""
    lines = []
    for role in ("customer", "agent"):
        side = sentiment[role] if sentiment else None
        if side and any(value is not None for value in side["byQuarter"]):
            values = side["byQuarter"]
            lines.append(
                SentimentLine(
                    role,
                    [signed(value, 2) for value in values],
                    _points(values),
                    side["trend"],
                )
            )
    return lines


def _points(values: Sequence[float | None]) -> str:
    """Return the middles of the quarters as points, from -1 at the bottom to 1 at the top."""
    step = _WIDTH / len(values)
    return " ".join(
        f"{step * (index + 0.5):g},{_HEIGHT * (1 - value) / 2:.1f}"
        for index, value in enumerate(values)
        if value is not None
    )
