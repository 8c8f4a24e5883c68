"""Histograms of scores with the pass line, and bars of shares."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.scales import ChartBar, Frame, Tick, round_ticks
from app.dashboard.charts.tables import Cell, DataTable

_GAP = 2.0


@dataclass(frozen=True, slots=True)
class ScoreClass:
    """Count of the scores from `low` to `high`, with a link to their evaluations."""

    low: int
    high: int
    count: int
    href: str | None = None

    @property
    def label(self) -> str:
        """The range in words."""
        return f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Histogram:
    """All that the macro draws; `pass_line` is None without one threshold for all."""

    frame: Frame
    columns: tuple[ChartBar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    pass_line: Tick | None
    table: DataTable


def histogram(
    classes: Sequence[ScoreClass], *, pass_threshold: int | None = None, frame: Frame | None = None
) -> Histogram | None:
    """Lay out the bars of score classes from 0 to 100; None where all are empty."""
    frame = frame or Frame()
    most = max((score_class.count for score_class in classes), default=0)
    if not most:
        return None
    ticks = [tick for tick in round_ticks(0, most) if tick == int(tick)]
    x, y = frame.x(0, 100), frame.y(0, ticks[-1])
    columns = tuple(
        ChartBar(
            x=round(x(score_class.low) + _GAP / 2, 1),
            y=y(score_class.count),
            width=round(x(min(100, score_class.high + 1)) - x(score_class.low) - _GAP, 1),
            height=round(frame.plot_bottom - y(score_class.count), 1),
            title=f"Score {score_class.label}: {score_class.count}",
            href=score_class.href,
        )
        for score_class in classes
    )
    pass_line = None
    if pass_threshold is not None:
        pass_line = Tick(x(pass_threshold), f"Pass from {pass_threshold}")
    return Histogram(
        frame=frame,
        columns=columns,
        x_ticks=tuple(Tick(x(score), str(score)) for score in range(0, 101, 10)),
        y_ticks=tuple(Tick(y(tick), f"{tick:g}") for tick in ticks),
        pass_line=pass_line,
        table=DataTable(
            ("Score", "Evaluations"),
            tuple(
                (Cell(score_class.label), Cell(str(score_class.count), score_class.href))
                for score_class in classes
            ),
        ),
    )


def bar_widths(values: Sequence[float]) -> list[float]:
    """Return the width of each bar in percent of the longest one."""
    longest = max(values, default=0)
    return [round(100 * value / longest, 1) if longest else 0.0 for value in values]
