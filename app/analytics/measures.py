"""What is measured of a group of facts: means, rates and percentiles, rounded for showing."""

from collections.abc import Callable, Mapping
from typing import Any

from app.analytics import statistics
from app.analytics.figures import Columns, scale_of, to_value
from app.analytics.statistics import rounded, share

SCORE_PLACES, SHARE_PLACES = 2, 4
_IMPROVING = ("improving", "slightly_improving")
_DECLINING = ("declining", "slightly_declining")
_UNTOLD = "not_calculated"
# Below this a feeling is neither good nor bad, as with the trend (scorecards, section 2).
_NEUTRAL = 0.1


def completed(columns: Columns) -> Columns:
    """Keep the facts of completed evaluations: only these have figures."""
    return columns.select("status", "completed")


def mean(columns: Columns, name: str, places: int = SHARE_PLACES) -> float | None:
    """Return the mean of a figure over the facts that have it."""
    found = statistics.mean(*columns.total(name))
    return None if found is None else rounded(to_value(name, found), places)


def percentile(columns: Columns, name: str, part: float, places: int = 2) -> float | None:
    """Return a percentile of a figure over the facts that have it; exact."""
    found = statistics.percentile(columns.ordered(name), part)
    return None if found is None else rounded(to_value(name, found), places)


def pass_rate(columns: Columns) -> float | None:
    """Return the share of those that passed among those that could."""
    return mean(columns, "passed")


def resolution_rate(columns: Columns) -> float | None:
    """Return the share of the resolved among those of which it is known."""
    counted = columns.words("resolution")
    return rounded(
        share(counted["resolved"], sum(counted.values()) - counted["unknown"]), SHARE_PLACES
    )


def trend_rates(columns: Columns) -> tuple[float | None, float | None]:
    """Return the shares of improving and of declining feelings among those with a trend."""
    counted = columns.words("sentiment_trend")
    known = sum(counted.values()) - counted[_UNTOLD]
    improving = share(sum(counted[each] for each in _IMPROVING), known)
    declining = share(sum(counted[each] for each in _DECLINING), known)
    return rounded(improving, SHARE_PLACES), rounded(declining, SHARE_PLACES)


def scores(columns: Columns) -> dict[str, Any]:
    """Return what there is to say of the scores."""
    ordered = columns.ordered("score")
    return {
        "mean": mean(columns, "score", SCORE_PLACES),
        "median": rounded(statistics.percentile(ordered, 0.5), SCORE_PLACES),
        "p10": rounded(statistics.percentile(ordered, 0.1), SCORE_PLACES),
        "p90": rounded(statistics.percentile(ordered, 0.9), SCORE_PLACES),
        "stdev": rounded(statistics.deviation(columns.counted("score")), SCORE_PLACES),
        "pass_rate": pass_rate(columns),
        "auto_fail_rate": mean(columns, "auto_failed"),
        "compliance_mean": mean(columns, "compliance_score", SCORE_PLACES),
    }


def distribution(columns: Columns) -> list[dict[str, int]]:
    """Count the scores in ten classes, each up to but without its end; the last one has 100 too."""
    counts = [0] * 10
    for score, count in columns.counted("score").items():
        counts[min(score // 10, 9)] += count
    return [
        {"low": 10 * index, "high": 10 * index + 10, "count": count}
        for index, count in enumerate(counts)
    ]


def sentiment(columns: Columns) -> dict[str, Any]:
    """Return how customers felt: counts of feelings, their mean, and where they went."""
    edge = round(_NEUTRAL * scale_of("customer_sentiment"))
    middle = scale_of("customer_sentiment")
    counted = columns.counted("customer_sentiment")
    positive = sum(count for felt, count in counted.items() if felt >= middle + edge)
    negative = sum(count for felt, count in counted.items() if felt <= middle - edge)
    improving, declining = trend_rates(columns)
    return {
        "positive": positive,
        "neutral": counted.total() - positive - negative,
        "negative": negative,
        "mean_customer": mean(columns, "customer_sentiment"),
        "improving_rate": improving,
        "declining_rate": declining,
    }


def change(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, float | None]:
    """Return by how much each value has moved; None where one of the two is missing."""
    return {
        name: None
        if now[name] is None or before[name] is None
        else rounded(now[name] - before[name], SHARE_PLACES)
        for name in before
    }


def _declining(columns: Columns) -> float | None:
    return trend_rates(columns)[1]


Measure = Callable[[Columns], float | None]


def of(name: str, places: int) -> Measure:
    """Return the function that takes the mean of one figure."""
    return lambda columns: mean(columns, name, places)


BOARD: Mapping[str, Measure] = {
    "mean_score": of("score", SCORE_PLACES),
    "median_score": lambda columns: percentile(columns, "score", 0.5),
    "p10": lambda columns: percentile(columns, "score", 0.1),
    "p90": lambda columns: percentile(columns, "score", 0.9),
    "pass_rate": pass_rate,
    "auto_fail_rate": of("auto_failed", SHARE_PLACES),
    "compliance_mean": of("compliance_score", SCORE_PLACES),
    "mean_customer_sentiment": of("customer_sentiment", SHARE_PLACES),
    "declining_rate": _declining,
    "resolution_rate": resolution_rate,
    "mean_duration_seconds": of("duration_seconds", 2),
    "talk_ratio": of("talk_ratio", SHARE_PLACES),
    "silence_percent": of("silence_percent", 2),
    "interruptions_per_call": of("interruptions", SHARE_PLACES),
    "first_response_seconds_median": lambda columns: percentile(
        columns, "first_response_seconds", 0.5
    ),
}
