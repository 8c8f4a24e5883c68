"""Trends of one metric over time, the scores that several pages draw, and the topics of conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import render_template

from app.analytics.engine.reader import FactReader, open_facts
from app.analytics.engine.selection import Selection
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.reports import trends
from app.analytics.schemas.reports import TrendQuery
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.scales import Frame
from app.dashboard.charts.scores import bar_widths
from app.dashboard.charts.trend import trend_chart
from app.dashboard.queries import PageFilters, filters_of_request
from app.dashboard.views import filters, formatting
from app.dashboard.views import trends as trend_views
from app.dashboard.words import WORDS
from app.web.current import current_runtime

blp = PageBlueprint("trends", __name__, scope="analytics:read")
# Charts on sheets are lower than those of pages.
SHEET_FRAME = Frame(height=150)
_SCHEMA = TrendQuery()
_MOST_TOPICS = 30
# The most frequent topics of one figure need not be those of another.
_ALL = 1_000


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic; `width` is its bar in percent of the most frequent one's."""

    topic: str
    count: int
    width: float
    change: str
    score: str
    sentiment: str


@blp.get("/trends")
@forms.shown_again(lambda: _page(filters_of_request(for_figures=True), None))
def show() -> str:
    """Show the course of one metric, of everything or group by group."""
    page_filters = filters_of_request(for_figures=True)
    return _page(page_filters, _trend(page_filters))


@blp.get("/topics")
def topics() -> str:
    """Show volume, change, score and sentiment of each topic."""
    page_filters = filters_of_request(for_figures=True)
    selection = page_filters.selection(page_filters.load(_SCHEMA))
    with open_facts(current_runtime()) as facts:
        rows = _topic_rows(
            volume=_of_topics(facts, selection, TrendMetric.EVALUATIONS),
            volume_before=_of_topics(facts, selection.before(), TrendMetric.EVALUATIONS, _ALL),
            score=_of_topics(facts, selection, TrendMetric.SCORE, _ALL),
            sentiment=_of_topics(facts, selection, TrendMetric.CUSTOMER_SENTIMENT, _ALL),
        )
    return render_template(
        "trends/topics.html",
        page_filters=page_filters,
        rows=rows,
        most=_MOST_TOPICS,
        trend_url=filters.url(
            "/trends", filters.carried(page_filters.texts), metric="evaluations", groupBy="topic"
        ),
    )


def score_trend(
    facts: FactReader, selection: Selection, group: GroupBy = GroupBy.NONE, *, limit: int = 1
) -> dict[str, Any]:
    """Return the mean scores of a period, in days or weeks: in weeks, too, where most days have few."""
    period = selection.period

    def show(granularity: Granularity) -> dict[str, Any]:
        return trends.show(
            facts,
            selection,
            metric=TrendMetric.SCORE,
            granularity=granularity,
            group_by=group,
            limit=limit,
        )

    trend = show(Granularity(trend_views.granularity_for(period.start, period.end)))
    if group is GroupBy.NONE and trend_views.has_few_a_day(trend):
        return show(Granularity.WEEK)
    return trend


def score_chart(
    trend: dict[str, Any], page_filters: PageFilters, frame: Frame | None = None
) -> Chart | None:
    """Draw mean scores over bars of their counts; None where nothing has a score."""
    return trend_chart(
        trend_views.lines_of(trend, page_filters.zone, page_filters.list_url),
        label_of=lambda value: trend_views.metric_text("score", value),
        highest=trend_views.highest_of("score"),
        has_bars=True,
        frame=frame,
    )


def _trend(page_filters: PageFilters) -> dict[str, Any]:
    start, end = page_filters.period.start, page_filters.period.end or page_filters.now
    usual = {} if start is None else {"granularity": trend_views.granularity_for(start, end)}
    loaded = forms.load(_SCHEMA, {**usual, **page_filters.moments()})
    selection = page_filters.selection(loaded)
    with open_facts(current_runtime()) as facts:
        return trends.show(
            facts,
            selection,
            metric=TrendMetric(loaded["metric"]),
            granularity=Granularity(loaded["granularity"]),
            group_by=GroupBy(loaded["group_by"]),
            limit=min(loaded["limit"], trend_views.MOST_LINES),
        )


def _page(page_filters: PageFilters, trend: dict[str, Any] | None) -> str:
    chart, slopes = None, []
    if trend is not None:
        lines = trend_views.lines_of(trend, page_filters.zone, page_filters.list_url)
        chart = trend_chart(
            lines,
            label_of=lambda value: trend_views.metric_text(trend["metric"], value),
            highest=trend_views.highest_of(trend["metric"]),
            has_bars=len(lines) == 1,
        )
        slopes = [
            (line.name, trend_views.slope_text(trend, series))
            for line, series in zip(lines, trend["series"], strict=True)
        ]
    return render_template(
        "trends/show.html",
        page_filters=page_filters,
        chart=chart,
        slopes=slopes,
        metrics=WORDS["metric"],
        groups=WORDS["groupBy"],
        granularities=WORDS["granularity"],
        shown=trend,
    )


def _of_topics(
    facts: FactReader, selection: Selection, metric: TrendMetric, limit: int = _MOST_TOPICS
) -> dict[str, Any]:
    return trends.show(
        facts,
        selection,
        metric=metric,
        granularity=Granularity.MONTH,
        group_by=GroupBy.TOPIC,
        limit=limit,
    )


def _topic_rows(
    *,
    volume: Mapping[str, Any],
    volume_before: Mapping[str, Any],
    score: Mapping[str, Any],
    sentiment: Mapping[str, Any],
) -> list[TopicRow]:
    """Return the topics, the most frequent first, from trends that are grouped by topic."""
    counts, before = _counts(volume), _counts(volume_before)
    scores, sentiments = _means(score), _means(sentiment)
    ordered = sorted(counts, key=lambda topic: (-counts[topic], topic))
    widths = bar_widths([counts[topic] for topic in ordered])
    return [
        TopicRow(
            topic=topic,
            count=counts[topic],
            width=width,
            change=formatting.signed(counts[topic] - before.get(topic, 0), 0),
            score=formatting.number(scores.get(topic), 1),
            sentiment=formatting.signed(sentiments.get(topic), 2),
        )
        for topic, width in zip(ordered, widths, strict=True)
    ]


def _counts(trend: Mapping[str, Any]) -> dict[str, int]:
    return {
        series["key"]: sum(point["count"] for point in series["points"])
        for series in trend["series"]
    }


def _means(trend: Mapping[str, Any]) -> dict[str, float]:
    means = {series["key"]: _mean(series["points"]) for series in trend["series"]}
    return {topic: mean for topic, mean in means.items() if mean is not None}


def _mean(points: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the mean over all points, each weighed by its count."""
    known = [point for point in points if point["value"] is not None]
    count = sum(point["count"] for point in known)
    return sum(point["value"] * point["count"] for point in known) / count if count else None
