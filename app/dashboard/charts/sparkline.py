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
    """Lay out the course of values from left to right; None for fewer than two of them.

    The line leads across steps without a value: with few values there would be none otherwise.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return None
    x = _FRAME.x(0, len(values) - 1)
    y = _FRAME.y(min(value for _, value in known), max(value for _, value in known))
    places = [(x(index), y(value)) for index, value in known]
    return Sparkline(_FRAME, line_path(places), places[-1])
