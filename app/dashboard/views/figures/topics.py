"""Topics: the volume of each in a period, its change, and the means of its evaluations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.charts.distribution import bar_widths
from app.dashboard.views import formatting


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic; `width` is its bar in percent of the most frequent one's."""

    topic: str
    count: int
    width: float
    change: str
    score: str
    sentiment: str


def topic_rows(
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
