"""Trends: values as people read them, steps that fit a period, and links behind each point."""

import math
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.reports.means import percentile_of_t
from app.core.clock import iso_utc
from app.dashboard.charts.trend import LineData, TrendPoint
from app.dashboard.views import formatting
from app.dashboard.views.figures import ListUrl
from app.dashboard.words import text_of

# More lines than these, and more points, cannot be told apart.
MOST_LINES = 10
_MOST_POINTS = 92
_FEW, _SOME_WEEKS = 5, 21
_RATES = frozenset({"passRate", "autoFailRate", "resolutionRate", "talkRatio"})
_PERCENTAGES = frozenset({"score", "complianceScore", "silencePercent"})
_PLACES: Mapping[str, int] = {"score": 1, "complianceScore": 1, "interruptions": 1}
# Filters of the list that leave exactly the evaluations that have the metric.
_COUNTED: Mapping[str, Mapping[str, str]] = {
    "score": {"status": "completed", "hasVerdict": "true"},
    "passRate": {"status": "completed", "hasVerdict": "true"},
    "autoFailRate": {"status": "completed"},
    "evaluations": {"status": "completed"},
}
_GROUP_FILTERS: Mapping[str, str] = {
    "campaign": "campaignId",
    "callCenter": "callCenterId",
    "executive": "executiveId",
    "channel": "channel",
    "topic": "topic",
}


def granularity_for(start: datetime, end: datetime) -> str:
    """Return the steps in which a period is drawn: days, or weeks where there are too many."""
    return "day" if end - start <= timedelta(days=_MOST_POINTS) else "week"


def has_few_a_day(trend: Mapping[str, Any]) -> bool:
    """Return whether most days of some weeks have so few evaluations that their means say nothing."""
    counts = [point["count"] for series in trend["series"] for point in series["points"]]
    few = sum(count < _FEW for count in counts)
    return trend["granularity"] == "day" and len(counts) >= _SOME_WEEKS and 2 * few > len(counts)


def highest_of(metric: str) -> float:
    """Return the highest value that a metric can have, or infinity."""
    if metric in _RATES:
        return 1
    return 100 if metric in _PERCENTAGES else math.inf


def metric_text(metric: str, value: float | None) -> str:
    if value is None:
        return formatting.MISSING
    if metric in _RATES:
        return formatting.percent(value)
    if metric == "silencePercent":
        return formatting.percent(value / 100)
    if metric == "customerSentiment":
        return formatting.signed(value, 2)
    if metric in ("firstResponseSeconds", "durationSeconds"):
        return formatting.waiting_time(value)
    return formatting.number(value, _PLACES.get(metric, 0))


def _step_label(start: datetime, granularity: str, zone: ZoneInfo) -> str:
    local = start.astimezone(zone)
    if granularity == "month":
        return f"{local:%b %Y}"
    if granularity == "hour":
        return f"{formatting.day_of(local)} {local:%H:%M}"
    return formatting.day_of(local)


def lines_of(trend: Mapping[str, Any], zone: ZoneInfo, list_url: ListUrl) -> list[LineData]:
    """Return the lines of a trend; each point links to the evaluations that it counts."""
    return [_line(trend, series, zone, list_url) for series in trend["series"]]


def slope_text(trend: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    """Say how far the fitted line rises or falls between the first and the last point, and if that may be chance."""
    slope = series["slope_per_period"]
    if slope is None:
        return "too few points"
    points = [
        (place, point["value"])
        for place, point in enumerate(series["points"])
        if point["value"] is not None
    ]
    rise = abs(slope) * (points[-1][0] - points[0][0])
    text = metric_text(trend["metric"], min(rise, highest_of(trend["metric"])))
    if metric_text(trend["metric"], 0).lstrip("+") == text.lstrip("+"):
        return "steady"
    # A rate that goes from 80 to 63 % is not down by 17 %.
    amount = text.lstrip("+").replace(" %", " percentage points")
    chance = "" if _is_clear(slope, points) else ", may be chance"
    return f"{'up' if slope > 0 else 'down'} by {amount}{chance}"


def _is_clear(slope: float, points: Sequence[tuple[int, float]]) -> bool:
    """Return whether the 95 % interval of a slope leaves out zero, by how far the points lie off its line."""
    freedom = len(points) - 2
    if freedom < 1:
        return False
    places, values = zip(*points, strict=True)
    middle, mean = statistics.fmean(places), statistics.fmean(values)
    off = sum((value - mean - slope * (place - middle)) ** 2 for place, value in points)
    spread = sum((place - middle) ** 2 for place in places)
    return abs(slope) > percentile_of_t(freedom) * math.sqrt(off / freedom / spread)


def _series_name(trend: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    """Return the name of a line: a name of the directory, a word, or that of the metric."""
    if trend["group_by"] == "none":
        return text_of("metric", str(trend["metric"]))
    if trend["group_by"] == "channel":
        return text_of("channel", str(series["key"]))
    return str(series["name"])


def _line(
    trend: Mapping[str, Any], series: Mapping[str, Any], zone: ZoneInfo, list_url: ListUrl
) -> LineData:
    metric, granularity = str(trend["metric"]), str(trend["granularity"])
    filters = _list_filters(trend, series)

    def href_of(point: Mapping[str, Any]) -> str | None:
        if filters is None or not point["count"]:
            return None
        bounds = {"from": iso_utc(point["period_start"]), "to": iso_utc(point["period_end"])}
        return list_url(**filters, **bounds)

    points = (
        TrendPoint(
            label=_step_label(point["period_start"], granularity, zone),
            value=point["value"],
            text=metric_text(metric, point["value"]),
            count=point["count"],
            href=href_of(point),
        )
        for point in series["points"]
    )
    return LineData(_series_name(trend, series), tuple(points))


def _list_filters(trend: Mapping[str, Any], series: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the filters that leave what a point counts; None where the list has no such filter."""
    filters = _COUNTED.get(str(trend["metric"]))
    group = str(trend["group_by"])
    if filters is None or group == "section":
        return None
    if group == "none":
        return dict(filters)
    return {**filters, _GROUP_FILTERS[group]: str(series["key"])}
