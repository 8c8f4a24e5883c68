"""Scatter charts: two values of each item, with the diagonal on which both are the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.scales import Frame, Tick
from app.dashboard.charts.tables import Cell, DataTable

_FRAME = Frame(width=420, height=360, left=44, right=16, top=12, bottom=34)
_TICKS = (0, 25, 50, 75, 100)


@dataclass(frozen=True, slots=True)
class PairedScore:
    """Two scores of one item, 0 to 100, with a link to it."""

    name: str
    before: int
    after: int
    href: str


@dataclass(frozen=True, slots=True)
class ScatterDot:
    """One item as drawn."""

    x: float
    y: float
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class ScatterChart:
    """All that the macro draws."""

    frame: Frame
    dots: tuple[ScatterDot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    table: DataTable


def scatter_chart(pairs: Sequence[PairedScore]) -> ScatterChart | None:
    """Lay out the items on two scales from 0 to 100; None without any."""
    if not pairs:
        return None
    x, y = _FRAME.x(0, 100), _FRAME.y(0, 100)
    dots = (
        ScatterDot(
            x(pair.before), y(pair.after), f"{pair.name}: {pair.before} to {pair.after}", pair.href
        )
        for pair in pairs
    )
    rows = (
        (Cell(pair.name, pair.href), Cell(str(pair.before)), Cell(str(pair.after)))
        for pair in pairs
    )
    return ScatterChart(
        _FRAME,
        tuple(dots),
        tuple(Tick(x(tick), str(tick)) for tick in _TICKS),
        tuple(Tick(y(tick), str(tick)) for tick in _TICKS),
        DataTable(("Conversation", "Before", "After"), tuple(rows)),
    )
