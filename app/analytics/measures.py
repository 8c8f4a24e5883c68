"""What is measured of a group of facts: means, rates and percentiles, rounded for showing."""

from collections.abc import Callable, Mapping
from typing import Any

from app.analytics import statistics
from app.analytics.figures import to_value
from app.analytics.statistics import rounded, share
from app.analytics.tallies import Tally

SCORE_PLACES, SHARE_PLACES = 2, 4
_IMPROVING = ("improving", "slightly_improving")
_DECLINING = ("declining", "slightly_declining")
_UNTOLD = "not_calculated"


def mean(tally: Tally, name: str, places: int = SHARE_PLACES) -> float | None:
    """Return the mean of a figure over the facts that have it."""
    found = statistics.mean(*tally.total(name))
    return None if found is None else rounded(to_value(name, found), places)


def wait(tally: Tally, part: float) -> float | None:
    """Return a percentile of the first responses, each to three significant digits, in seconds."""
    found = statistics.percentile(tally.waits, part)
    return None if found is None else rounded(to_value("first_response_seconds", found), 2)


def score(tally: Tally, part: float) -> float | None:
    """Return a percentile of the scores; exact."""
    return rounded(statistics.percentile(tally.scores, part), SCORE_PLACES)


def pass_rate(tally: Tally) -> float | None:
    """Return the share of those that passed among those that could."""
    return mean(tally, "passed")


def resolution_rate(tally: Tally) -> float | None:
    """Return the share of the resolved among those of which it is known."""
    counted = tally.words("resolution")
    return rounded(
        share(counted["resolved"], sum(counted.values()) - counted["unknown"]), SHARE_PLACES
    )


def trend_rates(tally: Tally) -> tuple[float | None, float | None]:
    """Return the shares of improving and of declining feelings among those with a trend."""
    counted = tally.words("sentiment_trend")
    known = sum(counted.values()) - counted[_UNTOLD]
    improving = share(sum(counted[each] for each in _IMPROVING), known)
    declining = share(sum(counted[each] for each in _DECLINING), known)
    return rounded(improving, SHARE_PLACES), rounded(declining, SHARE_PLACES)


def scores(tally: Tally) -> dict[str, Any]:
    """Return what there is to say of the scores."""
    return {
        "mean": mean(tally, "score", SCORE_PLACES),
        "median": score(tally, 0.5),
        "p10": score(tally, 0.1),
        "p90": score(tally, 0.9),
        "stdev": rounded(statistics.deviation(tally.scores), SCORE_PLACES),
        "pass_rate": pass_rate(tally),
        "auto_fail_rate": mean(tally, "auto_failed"),
        "compliance_mean": mean(tally, "compliance_score", SCORE_PLACES),
    }


def distribution(tally: Tally) -> list[dict[str, int]]:
    """Count the scores in ten classes, each up to but without its end; the last one has 100 too."""
    counts = [0] * 10
    for value, count in tally.scores.items():
        counts[min(value // 10, 9)] += count
    return [
        {"low": 10 * index, "high": 10 * index + 10, "count": count}
        for index, count in enumerate(counts)
    ]


def sentiment(tally: Tally) -> dict[str, Any]:
    """Return how customers felt: counts of feelings, their mean, and where they went."""
    positive, negative = tally.number("positive"), tally.number("negative")
    improving, declining = trend_rates(tally)
    return {
        "positive": positive,
        "neutral": tally.total("customer_sentiment")[1] - positive - negative,
        "negative": negative,
        "mean_customer": mean(tally, "customer_sentiment"),
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


def _declining(tally: Tally) -> float | None:
    return trend_rates(tally)[1]


Measure = Callable[[Tally], float | None]


def of(name: str, places: int) -> Measure:
    """Return the function that takes the mean of one figure."""
    return lambda tally: mean(tally, name, places)


BOARD: Mapping[str, Measure] = {
    "mean_score": of("score", SCORE_PLACES),
    "median_score": lambda tally: score(tally, 0.5),
    "p10": lambda tally: score(tally, 0.1),
    "p90": lambda tally: score(tally, 0.9),
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
    "first_response_seconds_median": lambda tally: wait(tally, 0.5),
}
