"""Scores over time, as several pages draw them."""

from typing import Any

from app.analytics.engine.reader import FactReader
from app.analytics.engine.selection import Selection
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.reports import trends
from app.dashboard.charts.scales import Frame
from app.dashboard.charts.trend import TrendChart, trend_chart
from app.dashboard.queries import PageFilters
from app.dashboard.views.figures import trends as trend_views

# Charts on sheets are lower than those of pages.
SHEET_FRAME = Frame(height=150)


def score_trend(
    facts: FactReader, selection: Selection, group: GroupBy = GroupBy.NONE, *, limit: int = 1
) -> dict[str, Any]:
    """Return the mean scores of a period, in days or weeks."""
    period = selection.period
    return trends.show(
        facts,
        selection,
        metric=TrendMetric.SCORE,
        granularity=Granularity(trend_views.granularity_for(period.start, period.end)),
        group_by=group,
        limit=limit,
    )


def score_chart(
    trend: dict[str, Any], page_filters: PageFilters, frame: Frame | None = None
) -> TrendChart | None:
    """Draw mean scores over bars of their counts; None where nothing has a score."""
    return trend_chart(
        trend_views.lines_of(trend, page_filters.zone, page_filters.list_url),
        label_of=lambda value: trend_views.metric_text("score", value),
        highest=trend_views.highest_of("score"),
        has_bars=True,
        frame=frame,
    )
