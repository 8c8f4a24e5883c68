"""Charts: where values are drawn, and that tables hold the same numbers as drawings."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dashboard.charts.scales import Frame, Scale, line_path, round_ticks, shown_label_indexes
from app.dashboard.charts.scores import (
    MeanEstimate,
    ScoreClass,
    bar_widths,
    histogram,
    interval_chart,
)
from app.dashboard.charts.tables import SHADES, confusion_table, shade_of
from app.dashboard.charts.trend import LineData, TrendPoint, sparkline, trend_chart

# Means and rates are rounded to four places.
numbers = st.integers(-(10**10), 10**10).map(lambda number: number / 10**4)
values = st.lists(st.none() | numbers, min_size=1, max_size=40)


def line(name: str, drawn: list[float | None], count: int = 9) -> LineData:
    points = (
        TrendPoint(f"day {day}", value, str(value), 0 if value is None else count, f"/list?{day}")
        for day, value in enumerate(drawn)
    )
    return LineData(name, tuple(points))


@given(ends=st.tuples(numbers, numbers), most=st.integers(3, 10))
def test_ticks_are_even_and_enclose_the_values(ends: tuple[float, float], most: int) -> None:
    ticks = round_ticks(min(ends), max(ends), most=most)
    assert 2 <= len(ticks) <= most
    assert ticks[0] <= min(ends)
    assert max(ends) <= ticks[-1]
    steps = [after - before for before, after in itertools.pairwise(ticks)]
    assert min(steps) == pytest.approx(max(steps))


def test_ticks_are_round() -> None:
    assert round_ticks(63.2, 78.9) == [60, 65, 70, 75, 80]
    assert round_ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert round_ticks(5, 5) == [4.5, 4.75, 5, 5.25, 5.5]


def test_no_tick_is_above_the_highest_value() -> None:
    assert round_ticks(98.4, 98.4, highest=100)[-1] == 100
    assert round_ticks(100, 100, highest=100) == [90, 92, 94, 96, 98, 100]


def test_a_scale_maps_both_ends_and_one_value_to_the_middle() -> None:
    scale = Scale(0, 100, 200, 0)
    assert (scale(0), scale(100), scale(25)) == (200, 0, 150)
    assert Scale(7, 7, 0, 10)(7) == 5


@given(count=st.integers(0, 400), most=st.integers(1, 12))
def test_labels_have_room(count: int, most: int) -> None:
    chosen = shown_label_indexes([str(index) for index in range(count)], most=most)
    assert len(chosen) <= most
    assert chosen[:1] == [0][:count]


def test_a_missing_point_is_a_gap() -> None:
    assert line_path([(0, 1), (2.5, 3), None, (4, 5)]) == "M0 1 L2.5 3 M4 5"
    assert line_path([None]) == ""


@given(values=values)
def test_a_trend_draws_each_value_inside_its_frame(values: list[float | None]) -> None:
    chart = trend_chart([line("Score", values)], label_of=str, has_bars=True)
    known = [value for value in values if value is not None]
    if not known:
        assert chart is None
        return
    assert chart is not None
    (drawn,) = chart.lines
    assert len(drawn.dots) == len(known) == len(re.findall("[ML]", drawn.path))
    frame = chart.frame
    for dot in drawn.dots:
        assert frame.left <= dot.x <= frame.plot_right
        assert frame.top <= dot.y <= frame.plot_bottom
    for bar in chart.bars:
        assert frame.left <= bar.x
        assert bar.x + bar.width <= frame.plot_right + 0.2
        assert bar.y + bar.height == pytest.approx(frame.plot_bottom, abs=0.2)
    assert [row[0].text for row in chart.table.rows] == [f"day {i}" for i in range(len(values))]


def test_scores_that_lie_close_do_not_look_far_apart() -> None:
    for values, labels in (
        ([96.0, 100.0], ["80", "85", "90", "95", "100"]),
        ([3.0, 4.0], ["0", "1", "2", "3", "4"]),
    ):
        chart = trend_chart([line("Score", values)], label_of=str, highest=100)
        assert chart is not None
        assert [tick.label for tick in chart.y_ticks] == labels


def test_few_evaluations_are_hollow_and_link_to_their_list() -> None:
    chart = trend_chart(
        [line("Score", [70.0], count=4), line("Bot", [80.0], count=5)], label_of=str
    )
    assert chart is not None
    assert [dot.is_hollow for drawn in chart.lines for dot in drawn.dots] == [True, False]
    assert [drawn.number for drawn in chart.lines] == [1, 2]
    assert chart.bars == ()
    (row,) = chart.table.rows
    assert chart.table.columns == ("Period", "Score", "n of Score", "Bot", "n of Bot")
    assert [cell.href for cell in row] == [None, None, "/list?0", None, "/list?0"]


@given(counts=st.lists(st.integers(0, 10**6), min_size=10, max_size=10))
def test_the_bars_of_a_histogram_are_as_tall_as_their_counts(counts: list[int]) -> None:
    classes = [
        ScoreClass(10 * index, 100 if index == 9 else 10 * index + 9, count)
        for index, count in enumerate(counts)
    ]
    chart = histogram(classes, pass_threshold=75)
    if not any(counts):
        assert chart is None
        return
    assert chart is not None
    assert chart.mark is not None
    assert chart.mark.x1 == chart.mark.x2 == chart.frame.x(0, 100)(75)
    tallest = max(bar.height for bar in chart.bars)
    for bar, count in zip(chart.bars, counts, strict=True):
        assert bar.height == pytest.approx(tallest * count / max(counts), abs=0.2)
        assert bar.width > 0
    assert [row[1].text for row in chart.table.rows] == [str(count) for count in counts]
    assert all(float(tick.label).is_integer() for tick in chart.y_ticks)


def test_widths_are_shares_of_the_longest_bar() -> None:
    assert bar_widths([5, 10, 0]) == [50, 100, 0]
    assert bar_widths([0, 0]) == [0, 0]
    assert bar_widths([]) == []


def test_a_sparkline_leads_across_gaps_and_ends_at_the_last_value() -> None:
    assert sparkline([None, 4.0]) is None
    course = sparkline([1.0, None, 3.0, 2.0])
    assert course is not None
    assert (course.path.count("M"), course.path.count("L")) == (1, 2)
    frame = course.frame
    assert course.last == (frame.plot_right, (frame.top + frame.plot_bottom) / 2)


def test_shades_cover_the_range() -> None:
    assert [shade_of(value, 100) for value in (0, 19, 20, 99, 100)] == [1, 1, 2, 5, 5]
    assert (shade_of(-5, 100), shade_of(500, 100)) == (1, SHADES)
    assert shade_of(None, 100) == 0


def test_a_confusion_table_shades_shares_of_its_rows() -> None:
    table = confusion_table(("no", "yes"), [[9, 1], [0, 0]])
    assert [[cell.shade for cell in row] for row in table.rows] == [[5, 1], [0, 0]]
    assert table.rows[0][1].title == "no against yes: 1 of 10"


def test_intervals_share_one_scale() -> None:
    chart = interval_chart(
        [MeanEstimate("Ann", 70, 65, 75, 20, "/ann"), MeanEstimate("Tom", 80, 79, 81, 90)]
    )
    assert chart is not None
    ann, tom = chart.intervals
    assert ann.low < ann.dot.x < ann.high < tom.low < tom.dot.x < tom.high
    assert ann.dot.y < tom.dot.y < chart.frame.plot_bottom
    assert [cell.text for cell in chart.table.rows[0]] == ["Ann", "70.0", "65.0 to 75.0", "20"]
    assert interval_chart([]) is None


def test_larger_values_are_higher_up() -> None:
    y = Frame().y(0, 10)
    assert y(10) < y(0)
