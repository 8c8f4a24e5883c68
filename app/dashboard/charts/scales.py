"""Scales of charts: positions of values, round ticks, and which labels have room."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_ROUND_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` to positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value, rounded to a tenth of a unit."""
        length = self.high - self.low
        share = (value - self.low) / length if length else 0.5
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of a drawing and the room around its plot, in units of its viewBox."""

    width: float = 720
    height: float = 226
    left: float = 44
    right: float = 12
    top: float = 12
    bottom: float = 32

    @property
    def plot_right(self) -> float:
        return self.width - self.right

    @property
    def plot_bottom(self) -> float:
        return self.height - self.bottom

    def x(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.left, self.plot_right)

    def y(self, low: float, high: float) -> Scale:
        """Return the vertical scale of the plot; larger values are higher up."""
        return Scale(low, high, self.plot_bottom, self.top)


def round_ticks(
    low: float, high: float, *, most: int = 6, highest: float = math.inf
) -> list[float]:
    """Return 2 to `most` round values, evenly spaced, that enclose `low` and `high`.

    Args:
        highest: the highest value that there can be; room around a single value ends there.
    """
    if low == high:
        room = abs(low) / 10 or 1
        low, high = low - room, min(high + room, highest)
    magnitude = 10.0 ** math.floor(math.log10((high - low) / (most - 1)))
    for step in (factor * magnitude for factor in (*_ROUND_STEPS, 20, 50)):
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first < most:
            return [round(place * step, 9) for place in range(first, last + 1)]
    raise AssertionError("the largest step covers every range")


def shown_label_indexes(labels: Sequence[str], *, most: int) -> list[int]:
    """Return the indexes of at most `most` labels, evenly spaced, the first among them."""
    step = max(1, -(-len(labels) // most))
    return list(range(0, len(labels), step))


def line_path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return the path through the points; a missing one leaves a gap."""
    parts, pen_is_down = [], False
    for point in points:
        if point is not None:
            parts.append(f"{'L' if pen_is_down else 'M'}{point[0]:g} {point[1]:g}")
        pen_is_down = point is not None
    return " ".join(parts)
