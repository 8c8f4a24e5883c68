"""Charts of scores: histograms with the pass line, means with their 95 % intervals, and pairs with the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.chart import (
    Bar,
    Cell,
    Chart,
    DashedLine,
    DataTable,
    Dot,
    DrawnLine,
    Interval,
    Tick,
)
from app.dashboard.charts.scales import Frame, round_ticks

_GAP = 2.0
_ROW_HEIGHT = 34
_FEW_TICKS = 6
_PAIRS_FRAME = Frame(width=420, height=360, left=44, right=16, top=12, bottom=34)


@dataclass(frozen=True, slots=True)
class ScoreClass:
    """Count of the scores from `low` to `high`, with a link to their evaluations."""

    low: int
    high: int
    count: int
    href: str | None = None

    @property
    def label(self) -> str:
        return f"{self.low} to {self.high}"


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
        return f"{self.low:.1f} to {self.high:.1f}"


@dataclass(frozen=True, slots=True)
class PairedScore:
    """Two scores of one item, 0 to 100, with a link to it."""

    name: str
    before: int
    after: int
    href: str


def histogram(classes: Sequence[ScoreClass], *, pass_threshold: int | None) -> Chart | None:
    """Lay out the bars of score classes from 0 to 100; None where all are empty.

    Args:
        pass_threshold: where the pass line is; None without one threshold for all.
    """
    frame = Frame()
    most = max((score_class.count for score_class in classes), default=0)
    if not most:
        return None
    ticks = [tick for tick in round_ticks(0, most) if tick == int(tick)]
    x, y = frame.x(0, 100), frame.y(0, ticks[-1])
    bars = (
        Bar(
            x=round(x(item.low) + _GAP / 2, 1),
            y=y(item.count),
            width=round(x(min(100, item.high + 1)) - x(item.low) - _GAP, 1),
            height=round(frame.plot_bottom - y(item.count), 1),
            title=f"Score {item.label}: {item.count}",
            href=item.href,
        )
        for item in classes
    )
    rows = ((Cell(item.label), Cell(str(item.count), item.href)) for item in classes)
    pass_line = None
    if pass_threshold is not None:
        at, label = x(pass_threshold), f"Pass from {pass_threshold}"
        pass_line = DashedLine(at, frame.top, at, frame.plot_bottom, label)
    return Chart(
        frame,
        DataTable(("Score", "Evaluations"), tuple(rows)),
        x_ticks=tuple(Tick(x(score), str(score)) for score in range(0, 101, 10)),
        y_ticks=tuple(Tick(y(tick), f"{tick:g}") for tick in ticks),
        bars=tuple(bars),
        mark=pass_line,
        has_steps=True,
    )


def bar_widths(values: Sequence[float]) -> list[float]:
    longest = max(values, default=0)
    return [round(100 * value / longest, 1) if longest else 0.0 for value in values]


def interval_chart(estimates: Sequence[MeanEstimate]) -> Chart | None:
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
    intervals, rows = [], []
    for index, item in enumerate(estimates):
        mean, y = f"{item.mean:.1f}", frame.top + _ROW_HEIGHT * (index + 0.5)
        title = f"{item.name}: {mean}, {item.range_text} (n {item.count})"
        dot = Dot(x(item.mean), y, title, item.href)
        intervals.append(Interval(item.name, x(item.low), x(item.high), dot))
        count = Cell(str(item.count), item.href)
        rows.append((Cell(item.name), Cell(mean), Cell(item.range_text), count))
    return Chart(
        frame,
        DataTable(("Name", "Mean", "95 % interval", "n"), tuple(rows)),
        x_ticks=tuple(Tick(x(tick), f"{tick:g}") for tick in ticks),
        intervals=tuple(intervals),
    )


def scatter_chart(pairs: Sequence[PairedScore]) -> Chart | None:
    """Lay out the items on two scales from 0 to 100; None without any."""
    if not pairs:
        return None
    frame = _PAIRS_FRAME
    x, y = frame.x(0, 100), frame.y(0, 100)
    dots, rows = [], []
    for pair in pairs:
        title = f"{pair.name}: {pair.before} to {pair.after}"
        dots.append(Dot(x(pair.before), y(pair.after), title, pair.href))
        rows.append((Cell(pair.name, pair.href), Cell(str(pair.before)), Cell(str(pair.after))))
    x_ticks, y_ticks = (
        tuple(Tick(scale(score), str(score)) for score in range(0, 101, 25)) for scale in (x, y)
    )
    return Chart(
        frame,
        DataTable(("Conversation", "Before", "After"), tuple(rows)),
        x_ticks=x_ticks,
        y_ticks=y_ticks,
        lines=(DrawnLine(1, "", "", tuple(dots)),),
        mark=DashedLine(frame.left, frame.plot_bottom, frame.plot_right, frame.top),
    )
