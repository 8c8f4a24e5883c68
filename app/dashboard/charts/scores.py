"""Charts of scores: histograms with the pass line, means with their 95 % intervals, and pairs with the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.charts.scales import ChartBar, Frame, Tick, round_ticks
from app.dashboard.charts.tables import Cell, DataTable

_GAP = 2.0
_ROW_HEIGHT = 34
_FEW_TICKS = 6
_FRAME = Frame(width=420, height=360, left=44, right=16, top=12, bottom=34)
_TICKS = (0, 25, 50, 75, 100)


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
class Histogram:
    """All that the macro draws; `pass_line` is None without one threshold for all."""

    frame: Frame
    columns: tuple[ChartBar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    pass_line: Tick | None
    table: DataTable


def histogram(classes: Sequence[ScoreClass], *, pass_threshold: int | None) -> Histogram | None:
    """Lay out the bars of score classes from 0 to 100; None where all are empty."""
    frame = Frame()
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
    longest = max(values, default=0)
    return [round(100 * value / longest, 1) if longest else 0.0 for value in values]


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
