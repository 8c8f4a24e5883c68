"""Sparklines: the course of a few values, without axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.scales import Frame, line_path

_FRAME = Frame(width=96, height=24, left=2, right=4, top=3, bottom=3)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A path, and the place of the last value."""

    frame: Frame
    path: str
    last: tuple[float, float]


def sparkline(values: Sequence[float | None]) -> Sparkline | None:
    """Lay out the course of values from left to right; None for fewer than two of them."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    x, y = _FRAME.x(0, len(values) - 1), _FRAME.y(min(known), max(known))
    places = [None if value is None else (x(index), y(value)) for index, value in enumerate(values)]
    return Sparkline(_FRAME, line_path(places), [place for place in places if place][-1])
