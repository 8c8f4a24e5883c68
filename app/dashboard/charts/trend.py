"""Courses over time: trend charts of up to ten groups, or one over bars of its counts, and sparklines."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.dashboard.charts.chart import Bar, Cell, Chart, DataTable, Dot, DrawnLine, Tick
from app.dashboard.charts.scales import Frame, Scale, line_path, round_ticks, shown_label_indexes

# Points of fewer evaluations are drawn hollow.
_FEW = 5
_MOST_TIME_LABELS = 6
_SHARE_OF_BARS = 0.3
_SPARK_FRAME = Frame(width=96, height=24, left=2, right=4, top=3, bottom=3)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One step of a line; `text` is its value as people read it."""

    label: str
    value: float | None
    text: str
    count: int
    href: str | None = None


@dataclass(frozen=True, slots=True)
class LineData:
    name: str
    points: tuple[TrendPoint, ...]


def trend_chart(
    series: Sequence[LineData],
    *,
    label_of: Callable[[float], str],
    highest: float = math.inf,
    has_bars: bool = False,
    frame: Frame | None = None,
) -> Chart | None:
    """Lay out the lines of series with the same steps; None where no point has a value.

    Args:
        label_of: writes a value at the axis.
        highest: the highest value that there can be.
        has_bars: draws bars of the counts of the first series behind its line.
    """
    frame = frame or Frame()
    values = [point.value for line in series for point in line.points if point.value is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    if math.isfinite(highest):
        # A fifth of what there can be at least, so that scores of 96 and 100 do not look far apart.
        low = min(low, max(0, high - highest / 5))
    ticks = round_ticks(low, high, highest=highest)
    labels = [point.label for point in series[0].points]
    x, y = frame.x(-0.5, len(labels) - 0.5), frame.y(ticks[0], ticks[-1])
    return Chart(
        frame,
        _table(series, labels),
        x_ticks=tuple(
            Tick(x(index), labels[index])
            for index in shown_label_indexes(labels, most=_MOST_TIME_LABELS)
        ),
        y_ticks=tuple(Tick(y(tick), label_of(tick).removesuffix(".0")) for tick in ticks),
        bars=_bars(series[0], x, frame) if has_bars else (),
        lines=tuple(_line(number, line, x, y) for number, line in enumerate(series, start=1)),
        has_steps=True,
        tallest_bar=max(point.count for point in series[0].points) if has_bars else 0,
    )


def _line(number: int, series: LineData, x: Scale, y: Scale) -> DrawnLine:
    places = [
        None if point.value is None else (x(index), y(point.value))
        for index, point in enumerate(series.points)
    ]
    dots = tuple(
        Dot(*place, _title(series.name, point), point.href, point.count < _FEW)
        for place, point in zip(places, series.points, strict=True)
        if place is not None
    )
    return DrawnLine(number, series.name, line_path(places), dots)


def _bars(series: LineData, x: Scale, frame: Frame) -> tuple[Bar, ...]:
    most = max(point.count for point in series.points)
    top = frame.plot_bottom - _SHARE_OF_BARS * (frame.plot_bottom - frame.top)
    height_of = Scale(0, most, 0, frame.plot_bottom - top)
    width = round((x(1) - x(0)) * 0.8, 1)
    return tuple(
        Bar(
            x=round(x(index) - width / 2, 1),
            y=round(frame.plot_bottom - height_of(point.count), 1),
            width=width,
            height=height_of(point.count),
            title=_title(series.name, point),
            href=point.href,
        )
        for index, point in enumerate(series.points)
        if point.count
    )


def _title(name: str, point: TrendPoint) -> str:
    return f"{name}, {point.label}: {point.text} (n {point.count})"


def _table(series: Sequence[LineData], labels: Sequence[str]) -> DataTable:
    columns = [heading for line in series for heading in (line.name, f"n of {line.name}")]
    if len(series) == 1:
        columns = [series[0].name, "n"]
    rows = []
    for index, label in enumerate(labels):
        cells = [Cell(label)]
        for line in series:
            point = line.points[index]
            cells += [Cell(point.text), Cell(str(point.count), point.href)]
        rows.append(tuple(cells))
    return DataTable(("Period", *columns), tuple(rows))


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
    x = _SPARK_FRAME.x(0, len(values) - 1)
    y = _SPARK_FRAME.y(min(value for _, value in known), max(value for _, value in known))
    places = [(x(index), y(value)) for index, value in known]
    return Sparkline(_SPARK_FRAME, line_path(places), places[-1])
