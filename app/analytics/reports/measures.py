"""Measures of an aggregate: means, rates and percentiles, rounded for display."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from app.analytics.engine.aggregates import Aggregate

SCORE_PLACES, SHARE_PLACES = 2, 4
_IMPROVING = ("improving", "slightly_improving")
_DECLINING = ("declining", "slightly_declining")


def mean(aggregate: Aggregate, name: str, places: int = SHARE_PLACES) -> float | None:
    total, count = aggregate.totals[name]
    return rounded(float(total / count), places) if count else None


def _score_percentile(aggregate: Aggregate, share: float) -> float | None:
    """Return a percentile of the scores; exact."""
    return rounded(percentile(aggregate.scores, share), SCORE_PLACES)


def resolution_rate(aggregate: Aggregate) -> float | None:
    """Return the share of resolved contacts among those with a known resolution."""
    counted = aggregate.resolutions
    return rounded(share(counted["resolved"], counted.total() - counted["unknown"]), SHARE_PLACES)


def _trend_rates(aggregate: Aggregate) -> tuple[float | None, float | None]:
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
    improving, declining = _trend_rates(aggregate)
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
    return lambda aggregate: mean(aggregate, name, places)


LEADERBOARD: Mapping[str, Measure] = {
    "mean_score": of("score", SCORE_PLACES),
    "median_score": lambda aggregate: _score_percentile(aggregate, 0.5),
    "p10": lambda aggregate: _score_percentile(aggregate, 0.1),
    "p90": lambda aggregate: _score_percentile(aggregate, 0.9),
    "stdev": lambda aggregate: rounded(deviation(aggregate.scores), SCORE_PLACES),
    "pass_rate": of("passed", SHARE_PLACES),
    "auto_fail_rate": of("auto_failed", SHARE_PLACES),
    "compliance_mean": of("compliance_score", SCORE_PLACES),
    "mean_customer_sentiment": of("customer_sentiment", SHARE_PLACES),
    "declining_rate": lambda aggregate: _trend_rates(aggregate)[1],
    "resolution_rate": resolution_rate,
    "mean_duration_seconds": of("duration_seconds", 2),
    "talk_ratio": of("talk_ratio", SHARE_PLACES),
    "silence_percent": of("silence_percent", 2),
    "interruptions_per_call": of("interruptions", SHARE_PLACES),
    "first_response_seconds_median": lambda aggregate: rounded(aggregate.first_response_median, 2),
}


def percentile(counted: Mapping[int, int], share: float) -> float | None:
    """Return a percentile of the counted values, interpolated between neighbours.

    The median of 1, 2, 4 and 8 is 3.
    """
    values = sorted(counted)
    ends = list(accumulate(counted[value] for value in values))
    if not ends:
        return None
    place = (ends[-1] - 1) * share
    low = math.floor(place)
    below, above = (values[bisect_right(ends, rank)] for rank in (low, min(low + 1, ends[-1] - 1)))
    return below + (above - below) * (place - low)


def deviation(counted: Mapping[int, int]) -> float | None:
    number = sum(counted.values())
    if not number:
        return None
    total = sum(value * count for value, count in counted.items())
    squares = sum(value * value * count for value, count in counted.items())
    return math.sqrt(max(0, number * squares - total * total)) / number


def share(part: int, whole: int) -> float | None:
    """Return a share from 0 to 1; None where the whole is 0."""
    return part / whole if whole else None


def slope(values: Sequence[float | None]) -> float | None:
    """Return the mean rise from one value to the next, by least squares.

    A missing value keeps its place. None for fewer than two values.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return None
    middle = sum(index for index, _ in known) / len(known)
    average = sum(value for _, value in known) / len(known)
    spread = sum((index - middle) ** 2 for index, _ in known)
    return sum((index - middle) * (value - average) for index, value in known) / spread


def rounded(value: float | None, places: int) -> float | None:
    """Round for display, never to minus zero."""
    return None if value is None else round(value, places) + 0.0
