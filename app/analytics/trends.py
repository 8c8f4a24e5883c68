"""Trends: one figure over time, of all facts or group by group (contract B11)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from app.analytics import codes, layouts, names, reading
from app.analytics.figures import COMPLETED as COMPLETED_CODE
from app.analytics.figures import FIELDS, NULL, Columns, taken, to_value
from app.analytics.models import Fact
from app.analytics.periods import Granularity
from app.analytics.reading import Question
from app.analytics.statistics import rounded, slope
from app.evaluations.vocabulary import RESOLUTIONS


class Metric(StrEnum):
    """What a trend may show; each is a mean but for the count of evaluations."""

    SCORE = "score"
    PASS_RATE = "passRate"  # noqa: S105 - a rate of passing
    AUTO_FAIL_RATE = "autoFailRate"
    COMPLIANCE_SCORE = "complianceScore"
    CUSTOMER_SENTIMENT = "customerSentiment"
    EVALUATIONS = "evaluations"
    TALK_RATIO = "talkRatio"
    SILENCE_PERCENT = "silencePercent"
    INTERRUPTIONS = "interruptions"
    AGENT_WPM = "agentWpm"
    FIRST_RESPONSE_SECONDS = "firstResponseSeconds"
    RESOLUTION_RATE = "resolutionRate"
    DURATION_SECONDS = "durationSeconds"


class GroupBy(StrEnum):
    """What each series of a trend is of; sections have scores alone."""

    NONE = "none"
    CAMPAIGN = "campaign"
    CALL_CENTER = "callCenter"
    EXECUTIVE = "executive"
    CHANNEL = "channel"
    SECTION = "section"
    TOPIC = "topic"


_COLUMNS = {
    Metric.SCORE: "score",
    Metric.PASS_RATE: "passed",
    Metric.AUTO_FAIL_RATE: "auto_failed",
    Metric.COMPLIANCE_SCORE: "compliance_score",
    Metric.CUSTOMER_SENTIMENT: "customer_sentiment",
    Metric.EVALUATIONS: "status",
    Metric.TALK_RATIO: "talk_ratio",
    Metric.SILENCE_PERCENT: "silence_percent",
    Metric.INTERRUPTIONS: "interruptions",
    Metric.AGENT_WPM: "agent_wpm",
    Metric.FIRST_RESPONSE_SECONDS: "first_response_seconds",
    Metric.RESOLUTION_RATE: "resolution",
    Metric.DURATION_SECONDS: "duration_seconds",
}
_PLACES = {Metric.SCORE: 2, Metric.COMPLIANCE_SCORE: 2, Metric.AGENT_WPM: 2}
_GROUPS = {
    GroupBy.CAMPAIGN: "campaign",
    GroupBy.CALL_CENTER: "call_center",
    GroupBy.EXECUTIVE: "executive",
}
_RESOLVED, _UNKNOWN = RESOLUTIONS.index("resolved"), RESOLUTIONS.index("unknown")


@dataclass(slots=True)
class Series:
    """Sums and counts of one series, period by period; `name` is for people."""

    key: str
    name: str
    totals: Counter[int] = field(default_factory=Counter)
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, places: Iterable[int], values: Iterable[int]) -> None:
        """Add values to the periods at these places."""
        for place, value in zip(places, values, strict=True):
            self.totals[place] += value
            self.counts[place] += 1


def show(
    session: Session,
    question: Question,
    *,
    metric: Metric,
    granularity: Granularity,
    group_by: GroupBy,
    limit: int,
) -> dict[str, Any]:
    """Show the course of a metric; groups are those with the most values, at most `limit`."""
    moments = question.period.bounds(granularity)
    cuts = [moment.timestamp() for moment in moments[1:-1]]
    if group_by is GroupBy.SECTION:
        found = _by_section(session, question, cuts)
    elif group_by is GroupBy.TOPIC:
        found = _by_topic(session, question, metric, cuts)
    else:
        found = _by_group(session, question, metric, group_by, cuts)
    found.sort(key=lambda each: (-each.counts.total(), each.key))
    return {
        "period": question.period.shown(),
        "metric": metric,
        "granularity": granularity,
        "group_by": group_by,
        "series": [_shown(each, metric, group_by, moments) for each in found[:limit]],
    }


def _by_group(
    session: Session, question: Question, metric: Metric, group_by: GroupBy, cuts: Sequence[float]
) -> list[Series]:
    if group_by is GroupBy.NONE:
        found = [(Series("all", "All"), reading.columns(session, question))]
    elif group_by is GroupBy.CHANNEL:
        every = reading.columns(session, question)
        counted = every.words("channel")
        found = [
            (Series(name, name), every.select("channel", name)) for name in counted if counted[name]
        ]
    else:
        group = _GROUPS[group_by]
        by_code = reading.columns_by(session, question, group)
        keys = codes.keys_of(session, by_code)
        told = names.of_group(session, group, keys.values())
        found = [
            (Series(keys[code], told[keys[code]]["name"]), each) for code, each in by_code.items()
        ]
    for series, columns in found:
        _fill(series, columns, metric, cuts)
    return [series for series, _ in found if series.counts or group_by is GroupBy.NONE]


def _fill(series: Series, columns: Columns, metric: Metric, cuts: Sequence[float]) -> None:
    places: list[int] = []
    values: list[int] = []
    name = _COLUMNS[metric]
    rows = zip(columns.raw("status"), columns.raw("at_s"), columns.raw(name), strict=True)
    for status, at_s, number in rows:
        value = _counted(metric, number) if status == COMPLETED_CODE else None
        if value is not None:
            places.append(bisect_right(cuts, at_s))
            values.append(value)
    series.add(places, values)


def _by_section(session: Session, question: Question, cuts: Sequence[float]) -> list[Series]:
    known = layouts.lanes_by_layout(session)
    found: dict[str, Series] = {}
    wanted = Fact.at, Fact.layout, Fact.shares
    for at, layout, shares in reading.rows(session, question, *wanted):
        if layout is None:
            continue
        place = bisect_right(cuts, at // 1_000_000)
        for lane, number in zip(known[layout], taken(shares, "H"), strict=True):
            if lane["kind"] == layouts.SECTION and number != layouts.NULL:
                series = found.setdefault(lane["key"], Series(lane["key"], lane["title"]))
                series.add((place,), (number,))
    return list(found.values())


def _by_topic(
    session: Session, question: Question, metric: Metric, cuts: Sequence[float]
) -> list[Series]:
    found: dict[str, Series] = {}
    place_of = FIELDS.index(_COLUMNS[metric])
    for at, data, topics in reading.rows(session, question, Fact.at, Fact.figures, Fact.topics):
        numbers = taken(data, "I")
        value = _counted(metric, numbers[place_of])
        if not topics or value is None or numbers[FIELDS.index("status")] != COMPLETED_CODE:
            continue
        place = bisect_right(cuts, at // 1_000_000)
        for topic in topics.split("\n"):
            found.setdefault(topic, Series(topic, topic)).add((place,), (value,))
    return list(found.values())


def _counted(metric: Metric, number: int) -> int | None:
    """Return what a stored number adds to the sum of a metric; None where it does not count."""
    if metric is Metric.EVALUATIONS:
        return 1
    if number == NULL:
        return None
    if metric is Metric.RESOLUTION_RATE:
        return None if number == _UNKNOWN else int(number == _RESOLVED)
    return number


def _shown(
    series: Series, metric: Metric, group_by: GroupBy, moments: Sequence[Any]
) -> dict[str, Any]:
    values = [_value(series, place, metric, group_by) for place in range(len(moments) - 1)]
    return {
        "key": series.key,
        "name": series.name,
        "points": [
            {
                "period_start": moments[place],
                "period_end": moments[place + 1],
                "value": value,
                "count": series.counts[place],
            }
            for place, value in enumerate(values)
        ],
        "slope_per_period": rounded(slope(values), 6),
    }


def _value(series: Series, place: int, metric: Metric, group_by: GroupBy) -> float | None:
    count, total = series.counts[place], series.totals[place]
    if metric is Metric.EVALUATIONS:
        return count
    if not count:
        return None
    if group_by is GroupBy.SECTION:
        return rounded(total / count / layouts.SECTION_SCALE, 2)
    if metric is Metric.RESOLUTION_RATE:
        return rounded(total / count, 4)
    return rounded(to_value(_COLUMNS[metric], total / count), _PLACES.get(metric, 4))
