"""Measures of an aggregate: means, rates and percentiles, rounded for display."""

from collections.abc import Callable, Mapping
from typing import Any

from app.analytics.engine.aggregates import Aggregate
from app.analytics.reports import statistics
from app.analytics.reports.statistics import rounded, share

SCORE_PLACES, SHARE_PLACES = 2, 4
_IMPROVING = ("improving", "slightly_improving")
_DECLINING = ("declining", "slightly_declining")


def mean(aggregate: Aggregate, name: str, places: int = SHARE_PLACES) -> float | None:
    """Return the mean of a measure over the facts that have it."""
    total, count = aggregate.totals[name]
    return rounded(float(total / count), places) if count else None


def score_percentile(aggregate: Aggregate, share: float) -> float | None:
    """Return a percentile of the scores; exact."""
    return rounded(statistics.percentile(aggregate.scores, share), SCORE_PLACES)


def resolution_rate(aggregate: Aggregate) -> float | None:
    """Return the share of resolved contacts among those with a known resolution."""
    counted = aggregate.resolutions
    return rounded(share(counted["resolved"], counted.total() - counted["unknown"]), SHARE_PLACES)


def trend_rates(aggregate: Aggregate) -> tuple[float | None, float | None]:
    """Return the shares of improving and of declining sentiment among those with a trend."""
    counted = aggregate.sentiment_trends
    known = counted.total() - counted["not_calculated"]
    improving = share(sum(counted[trend] for trend in _IMPROVING), known)
    declining = share(sum(counted[trend] for trend in _DECLINING), known)
    return rounded(improving, SHARE_PLACES), rounded(declining, SHARE_PLACES)


def distribution(scores: Mapping[int, int]) -> list[dict[str, int]]:
    """Count the scores in ten classes, each without its upper bound; the last includes 100."""
    counts = [0] * 10
    for score, count in scores.items():
        counts[min(score // 10, 9)] += count
    return [
        {"low": 10 * index, "high": 10 * index + 10, "count": count}
        for index, count in enumerate(counts)
    ]


def sentiment(aggregate: Aggregate) -> dict[str, Any]:
    """Return the counts of customer sentiment, its mean, and the rates of its trends."""
    improving, declining = trend_rates(aggregate)
    _, count = aggregate.totals["customer_sentiment"]
    return {
        "positive": aggregate.positive,
        "neutral": count - aggregate.positive - aggregate.negative,
        "negative": aggregate.negative,
        "mean_customer": mean(aggregate, "customer_sentiment"),
        "improving_rate": improving,
        "declining_rate": declining,
    }


def change(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the change of each value; None where one of the two values is None."""
    return {
        name: None
        if now[name] is None or before[name] is None
        else rounded(now[name] - before[name], SHARE_PLACES)
        for name in before
    }


Measure = Callable[[Aggregate], float | None]


def of(name: str, places: int) -> Measure:
    """Return the function that computes the mean of one measure."""
    return lambda aggregate: mean(aggregate, name, places)


LEADERBOARD: Mapping[str, Measure] = {
    "mean_score": of("score", SCORE_PLACES),
    "median_score": lambda aggregate: score_percentile(aggregate, 0.5),
    "p10": lambda aggregate: score_percentile(aggregate, 0.1),
    "p90": lambda aggregate: score_percentile(aggregate, 0.9),
    "stdev": lambda aggregate: rounded(statistics.deviation(aggregate.scores), SCORE_PLACES),
    "pass_rate": of("passed", SHARE_PLACES),
    "auto_fail_rate": of("auto_failed", SHARE_PLACES),
    "compliance_mean": of("compliance_score", SCORE_PLACES),
    "mean_customer_sentiment": of("customer_sentiment", SHARE_PLACES),
    "declining_rate": lambda aggregate: trend_rates(aggregate)[1],
    "resolution_rate": resolution_rate,
    "mean_duration_seconds": of("duration_seconds", 2),
    "talk_ratio": of("talk_ratio", SHARE_PLACES),
    "silence_percent": of("silence_percent", 2),
    "interruptions_per_call": of("interruptions", SHARE_PLACES),
    "first_response_seconds_median": lambda aggregate: rounded(aggregate.first_response_median, 2),
}
