"""Trends: one figure over time, of all facts or group by group (contract B11)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from app.analytics import codes, facts, layouts, names, reading
from app.analytics.figures import CHANNELS, to_value
from app.analytics.lanes import means_of
from app.analytics.periods import Granularity
from app.analytics.reading import Question
from app.analytics.spans import Range
from app.analytics.statistics import rounded, slope
from app.analytics.tallies import Detail, Tally
from app.analytics.views import IDS


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


_FIGURES = {
    Metric.SCORE: "score",
    Metric.PASS_RATE: "passed",
    Metric.AUTO_FAIL_RATE: "auto_failed",
    Metric.COMPLIANCE_SCORE: "compliance_score",
    Metric.CUSTOMER_SENTIMENT: "customer_sentiment",
    Metric.TALK_RATIO: "talk_ratio",
    Metric.SILENCE_PERCENT: "silence_percent",
    Metric.INTERRUPTIONS: "interruptions",
    Metric.AGENT_WPM: "agent_wpm",
    Metric.FIRST_RESPONSE_SECONDS: "first_response_seconds",
    Metric.DURATION_SECONDS: "duration_seconds",
}
_PLACES = {Metric.SCORE: 2, Metric.COMPLIANCE_SCORE: 2, Metric.AGENT_WPM: 2}
_BY = {
    GroupBy.NONE: None,
    GroupBy.CAMPAIGN: "campaign",
    GroupBy.CALL_CENTER: "call_center",
    GroupBy.EXECUTIVE: "executive",
    GroupBy.CHANNEL: "channel",
    GroupBy.TOPIC: "topic",
}

# A value, or None for a mean of nothing, and how many evaluations it is of.
Point: TypeAlias = tuple[float | None, int]


@dataclass(slots=True)
class Series:
    """One course: its points by the place of their period; `name` is for people."""

    key: str
    name: str
    points: dict[int, Point] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many evaluations it is of."""
        return sum(count for _, count in self.points.values())


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
    ranges = list(pairwise(facts.microseconds(moment) for moment in moments))
    if group_by is GroupBy.SECTION:
        found = _by_section(session, question, ranges)
    else:
        found = _by_group(session, question, ranges, metric, group_by, limit)
    found.sort(key=lambda each: (-each.count, each.key))
    return {
        "period": question.period.shown(),
        "metric": metric,
        "granularity": granularity,
        "group_by": group_by,
        "series": [_shown(each, metric, moments) for each in found[:limit]],
    }


def _by_group(
    session: Session,
    question: Question,
    ranges: Sequence[Range],
    metric: Metric,
    group_by: GroupBy,
    limit: int,
) -> list[Series]:
    by = _BY[group_by]
    largest = _largest(session, question, metric, by, limit) if by in IDS else None
    tallies = reading.tallies(session, question, ranges, by, members=largest)
    points: dict[Any, dict[int, Point]] = defaultdict(dict)
    if group_by is GroupBy.NONE:
        points["all"] = {}
    for (place, *group), tally in tallies.items():
        points[group[0] if group else "all"][place] = _point(tally, metric)
    if group_by is GroupBy.NONE:
        return [Series("all", "All", points["all"])]
    told = _told(session, group_by, points)
    found = [Series(*told[group], own) for group, own in points.items()]
    return [each for each in found if each.count]


def _largest(
    session: Session, question: Question, metric: Metric, by: str, limit: int
) -> list[int]:
    """Return the codes of the groups with the most values over the whole period."""
    tallies = reading.tallies(session, question, [reading.whole(question)], by)
    counts = {code: _point(tally, metric)[1] for (_, code), tally in tallies.items()}
    keys = codes.keys_of(session, counts)
    return sorted(counts, key=lambda code: (-counts[code], keys[code]))[:limit]


def _told(
    session: Session, group_by: GroupBy, groups: Collection[Any]
) -> dict[Any, tuple[str, str]]:
    """Map what tallies are told apart by to key and name."""
    if group_by is GroupBy.TOPIC:
        return {topic: (topic, topic) for topic in groups}
    if group_by is GroupBy.CHANNEL:
        return {code: (CHANNELS[code], CHANNELS[code]) for code in groups}
    keys = codes.keys_of(session, groups)
    told = names.of_group(session, str(_BY[group_by]), keys.values())
    return {code: (key, told[key]["name"]) for code, key in keys.items()}


def _by_section(session: Session, question: Question, ranges: Sequence[Range]) -> list[Series]:
    known = layouts.lanes_by_layout(session)
    found: dict[str, Series] = {}
    for (place,), tally in reading.tallies(
        session, question, ranges, details=(Detail.SHARES,)
    ).items():
        for section in means_of(tally.shares, known).sections:
            series = found.setdefault(section.key, Series(section.key, section.title))
            series.points[place] = rounded(section.mean, 2), section.count
    return list(found.values())


def _point(tally: Tally, metric: Metric) -> Point:
    if metric is Metric.EVALUATIONS:
        return tally.completed, tally.completed
    if metric is Metric.RESOLUTION_RATE:
        words = tally.words("resolution")
        count = sum(words.values()) - words["unknown"]
        return rounded(words["resolved"] / count, 4) if count else None, count
    figure = _FIGURES[metric]
    total, count = tally.total(figure)
    if not count:
        return None, 0
    return rounded(to_value(figure, total / count), _PLACES.get(metric, 4)), count


def _shown(series: Series, metric: Metric, moments: Sequence[datetime]) -> dict[str, Any]:
    nothing: Point = (0 if metric is Metric.EVALUATIONS else None), 0
    points = [series.points.get(place, nothing) for place in range(len(moments) - 1)]
    return {
        "key": series.key,
        "name": series.name,
        "points": [
            {"period_start": start, "period_end": end, "value": value, "count": count}
            for (start, end), (value, count) in zip(pairwise(moments), points, strict=True)
        ],
        "slope_per_period": rounded(slope([value for value, _ in points]), 6),
    }
