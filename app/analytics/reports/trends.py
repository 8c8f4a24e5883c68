"""Trends: one metric over time, in total or by group."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeAlias

from app.analytics.engine.aggregates import ScoreMeans, completed, score_numbers, sum_and_count
from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Selection, bucket_starts
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.reports import names
from app.analytics.reports.measures import rounded, slope

# SQL for the sum of a metric, and for the number of evaluations that have it.
_NUMBERS = {
    **{
        metric: sum_and_count(measure)
        for metric, measure in (
            (TrendMetric.SCORE, "score"),
            (TrendMetric.PASS_RATE, "passed"),
            (TrendMetric.AUTO_FAIL_RATE, "auto_failed"),
            (TrendMetric.COMPLIANCE_SCORE, "compliance_score"),
            (TrendMetric.CUSTOMER_SENTIMENT, "customer_sentiment"),
            (TrendMetric.TALK_RATIO, "talk_ratio"),
            (TrendMetric.SILENCE_PERCENT, "silence_percent"),
            (TrendMetric.INTERRUPTIONS, "interruptions"),
            (TrendMetric.AGENT_WPM, "agent_wpm"),
            (TrendMetric.FIRST_RESPONSE_SECONDS, "first_response_seconds"),
            (TrendMetric.DURATION_SECONDS, "duration_seconds"),
        )
    },
    TrendMetric.EVALUATIONS: ("count(*)", "count(*)"),
    TrendMetric.RESOLUTION_RATE: (
        "count(*) FILTER (resolution = 'resolved')",
        "count(*) FILTER (resolution <> 'unknown')",
    ),
}
_PLACES = {TrendMetric.SCORE: 2, TrendMetric.COMPLIANCE_SCORE: 2, TrendMetric.AGENT_WPM: 2}
_COLUMNS = {
    GroupBy.CAMPAIGN: "campaign_id",
    GroupBy.CALL_CENTER: "call_center_id",
    GroupBy.EXECUTIVE: "executive_id",
    GroupBy.CHANNEL: "channel",
    GroupBy.TOPIC: "topic",
}

# A value, None where a mean has no evaluations, and the number of evaluations.
_Point: TypeAlias = tuple[float | None, int]


@dataclass(slots=True)
class _Series:
    """The points of one group by the start of their bucket, with its key and its displayed name."""

    key: str
    name: str
    points: dict[datetime, _Point] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(count for _, count in self.points.values())


def show(
    facts: FactReader,
    selection: Selection,
    *,
    metric: TrendMetric,
    granularity: Granularity,
    group_by: GroupBy,
    limit: int,
) -> dict[str, Any]:
    """Show a metric over time, for at most `limit` groups, those with the most evaluations."""
    period = selection.period
    starts = bucket_starts(period.start, period.end, period.zone, granularity)
    if group_by is GroupBy.SECTION:
        all_series = _by_section(facts, selection, granularity)
    elif group_by is GroupBy.NONE:
        all_series = [_overall(facts, selection, metric, granularity)]
    else:
        all_series = _by_group(facts, selection, metric, granularity, group_by, limit)
    all_series.sort(key=lambda series: (-series.count, series.key))
    return {
        "period": period.shown(),
        "metric": metric,
        "granularity": granularity,
        "group_by": group_by,
        "series": [
            _series_json(series, metric, selection, starts) for series in all_series[:limit]
        ],
    }


def _overall(
    facts: FactReader, selection: Selection, metric: TrendMetric, granularity: Granularity
) -> _Series:
    buckets = selection.period.zone, granularity
    aggregation = Aggregation(("bucket_start",), _NUMBERS[metric], buckets=buckets)
    groups = facts.aggregate(selection, aggregation)
    points = {_utc(start): _point(metric, *numbers) for (start,), numbers in groups.items()}
    return _Series("all", "All", points)


def _by_group(
    facts: FactReader,
    selection: Selection,
    metric: TrendMetric,
    granularity: Granularity,
    group_by: GroupBy,
    limit: int,
) -> list[_Series]:
    column, by_topic = _COLUMNS[group_by], group_by is GroupBy.TOPIC
    _, count_sql = _NUMBERS[metric]
    groups = facts.aggregate(
        selection, Aggregation((column,), (count_sql,), completed(column), by_topic=by_topic)
    )
    counts = {key: count for (key,), (count,) in groups.items() if count}
    largest = sorted(counts, key=lambda key: (-counts[key], key))[:limit]
    if not largest:
        return []
    aggregation = Aggregation(
        (column, "bucket_start"),
        _NUMBERS[metric],
        by_topic=by_topic,
        buckets=(selection.period.zone, granularity),
    )
    names_by_key = _names(facts, group_by, largest)
    series = {key: _Series(key, names_by_key[key]) for key in largest}
    for (key, start), numbers in facts.aggregate(selection, aggregation, {column: largest}).items():
        series[key].points[_utc(start)] = _point(metric, *numbers)
    return list(series.values())


def _by_section(facts: FactReader, selection: Selection, granularity: Granularity) -> list[_Series]:
    aggregation = Aggregation(
        ("bucket_start", "score_layout_id"),
        score_numbers(facts.score_count),
        "status = 'completed' AND score_layout_id IS NOT NULL",
        buckets=(selection.period.zone, granularity),
    )
    means_by_start: dict[datetime, ScoreMeans] = defaultdict(ScoreMeans)
    for (start, layout_id), numbers in sorted(facts.aggregate(selection, aggregation).items()):
        means_by_start[start].add(facts.layouts[layout_id], numbers)
    by_key: dict[str, _Series] = {}
    for start, means in means_by_start.items():
        for section in means.sections:
            series = by_key.setdefault(section.key, _Series(section.key, section.title))
            series.points[_utc(start)] = rounded(section.mean, 2), section.count
    return list(by_key.values())


def _names(facts: FactReader, group_by: GroupBy, keys: Sequence[str]) -> Mapping[str, str]:
    if group_by in (GroupBy.TOPIC, GroupBy.CHANNEL):
        return {key: key for key in keys}
    group = _COLUMNS[group_by].removesuffix("_id")
    return {
        key: described["name"]
        for key, described in names.of_group(facts.session, group, keys).items()
    }


def _point(metric: TrendMetric, total: Any, count: int) -> _Point:
    if metric is TrendMetric.EVALUATIONS:
        return count, count
    return rounded(float(total / count), _PLACES.get(metric, 4)) if count else None, count


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def _series_json(
    series: _Series, metric: TrendMetric, selection: Selection, starts: Sequence[datetime]
) -> dict[str, Any]:
    empty: _Point = (0 if metric is TrendMetric.EVALUATIONS else None), 0
    points = [series.points.get(start, empty) for start in starts]
    bounds = [selection.period.start, *starts[1:], selection.period.end]
    return {
        "key": series.key,
        "name": series.name,
        "points": [
            {"period_start": start, "period_end": end, "value": value, "count": count}
            for (start, end), (value, count) in zip(pairwise(bounds), points, strict=True)
        ],
        "slope_per_period": rounded(slope([value for value, _ in points]), 6),
    }
