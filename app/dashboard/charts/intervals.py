"""Interval dots: means with their 95 % intervals, one under the other on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.scales import Frame, Tick, round_ticks
from app.dashboard.charts.tables import Cell, DataTable

_ROW_HEIGHT = 34
_FEW_TICKS = 6


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean of `count` values with the ends of its interval."""

    name: str
    mean: float
    low: float
    high: float
    count: int
    href: str | None = None

    @property
    def range_text(self) -> str:
        """The interval in words."""
        return f"{self.low:.1f} to {self.high:.1f}"


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One estimate as drawn."""

    name: str
    y: float
    x: float
    x_low: float
    x_high: float
    title: str
    href: str | None


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """All that the macro draws."""

    frame: Frame
    rows: tuple[IntervalRow, ...]
    x_ticks: tuple[Tick, ...]
    table: DataTable


def interval_chart(estimates: Sequence[MeanEstimate]) -> IntervalChart | None:
    """Lay out the estimates in their order; None without any."""
    if not estimates:
        return None
    frame = Frame(height=_ROW_HEIGHT * len(estimates) + 38, left=170)
    ticks = round_ticks(
        min(estimate.low for estimate in estimates),
        max(estimate.high for estimate in estimates),
        most=_FEW_TICKS,
    )
    x = frame.x(ticks[0], ticks[-1])
    rows = tuple(
        IntervalRow(
            name=estimate.name,
            y=frame.top + _ROW_HEIGHT * (index + 0.5),
            x=x(estimate.mean),
            x_low=x(estimate.low),
            x_high=x(estimate.high),
            title=f"{estimate.name}: {estimate.mean:.1f}, {estimate.range_text} (n {estimate.count})",
            href=estimate.href,
        )
        for index, estimate in enumerate(estimates)
    )
    table = DataTable(
        ("Name", "Mean", "95 % interval", "n"),
        tuple(
            (
                Cell(estimate.name),
                Cell(f"{estimate.mean:.1f}"),
                Cell(estimate.range_text),
                Cell(str(estimate.count), estimate.href),
            )
            for estimate in estimates
        ),
    )
    return IntervalChart(frame, rows, tuple(Tick(x(tick), f"{tick:g}") for tick in ticks), table)
