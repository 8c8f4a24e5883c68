"""Figures of a period: means and rates with their errors, their changes, and the lists that they count."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.dashboard.charts.scores import ScoreClass
from app.dashboard.views import formatting

ListUrl = Callable[..., str]
# The 97.5th percentiles of Student's t with 1, 2 and 3 degrees of freedom.
_FIRST_PERCENTILES = (12.706, 4.303, 3.182)
_MOST_MOVERS = 5
_HIGHEST_SCORE = 100
_COMPLETED = {"status": "completed"}
# What means, pass rates and distributions count.
_WITH_VERDICT = {**_COMPLETED, "hasVerdict": "true"}


@dataclass(frozen=True, slots=True)
class Change:
    """A difference since the period before, and the half width of its 95 % interval, if known."""

    value: float
    error: float | None = None

    @property
    def is_clear(self) -> bool:
        """Return whether the interval of the difference leaves out zero."""
        return self.error is not None and abs(self.value) > self.error

    @property
    def direction(self) -> str:
        """The word for the sign: up, down or level."""
        if not self.value:
            return "level"
        return "up" if self.value > 0 else "down"


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """The mean, the standard deviation (of these values alone) and the number of some values."""

    mean: float
    deviation: float
    count: int

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; a single value leaves it open."""
        return self.deviation / math.sqrt(self.count - 1) if self.count > 1 else math.inf

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of the mean."""
        return percentile_of_t(self.count - 1) * self.standard_error


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in words, its change in words, the link to what is behind it, and how many that are."""

    label: str
    text: str
    change: Change | None
    change_text: str
    href: str | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Mover:
    """An executive whose mean score has moved."""

    id: str
    name: str
    change: Change
    count: int


def percentile_of_t(freedom: float) -> float:
    """Return the 97.5th percentile of Student's t; a fraction of a degree of freedom is cut off below 4."""
    if freedom < len(_FIRST_PERCENTILES) + 1:
        return _FIRST_PERCENTILES[max(int(freedom + 1e-9), 1) - 1]
    return 1.96 + 2.372 / freedom + 2.822 / freedom**2 + 2.556 / freedom**3


def rate(share: float, count: int) -> MeasuredMean:
    """Return a share of `count`, in percent.

    Its error is that with one more of either kind (Agresti and Caffo), so that 0 and 100 % have
    an error, too.
    """
    likely = (share * count + 1) / (count + 2)
    # `standard_error` divides by the root of count - 1, their formula by that of count + 2.
    variance = likely * (1 - likely) * (count - 1) / (count + 2)
    return MeasuredMean(100 * share, 100 * math.sqrt(variance), count)


def change_of(now: MeasuredMean | None, before: MeasuredMean | None) -> Change | None:
    """Return the difference of two means with its error; None where one of them is missing."""
    if now is None or before is None:
        return None
    error = standard_error(now, before)
    if not math.isfinite(error):
        return Change(now.mean - before.mean)
    # The degrees of freedom of Welch's test.
    parts = sum(mean.standard_error**4 / (mean.count - 1) for mean in (now, before))
    freedom = error**4 / parts if parts else math.inf
    return Change(now.mean - before.mean, percentile_of_t(freedom) * error)


def moved_mean(mean: MeasuredMean | None, change: Mapping[str, Any] | None) -> Change | None:
    """Return the change of a mean since the period before, None where that is not known.

    The period before is taken to have as many evaluations, spread as widely.
    """
    difference = change["mean_score"] if change else None
    if mean is None or difference is None:
        return None
    return change_of(mean, replace(mean, mean=mean.mean - difference))


def standard_error(now: MeasuredMean, before: MeasuredMean) -> float:
    """Return the standard error of the difference of two means."""
    return math.hypot(now.standard_error, before.standard_error)


def mean_scores(
    summary: Mapping[str, Any],
) -> tuple[MeasuredMean | None, MeasuredMean | None]:
    """Return the mean score of the period and of the one before.

    The deviation of the period before is not known, and taken to be the same; its number may
    include evaluations without a verdict.
    """
    score, change = summary["score"], summary["change"]
    count = sum(score_class["count"] for score_class in score["distribution"])
    if not count:
        return None, None
    now = MeasuredMean(score["mean"], score["stdev"], count)
    count_before = summary["totals"]["completed"] - change["evaluations"] if change else 0
    if count_before <= 0 or change["mean_score"] is None:
        return now, None
    return now, MeasuredMean(score["mean"] - change["mean_score"], score["stdev"], count_before)


def headline(summary: Mapping[str, Any], list_url: ListUrl) -> list[Figure]:
    """Return the headline of a period."""
    score, sentiment = summary["score"], summary["sentiment"]
    mean, _ = mean_scores(summary)
    known = sum(count for word, count in summary["resolution"].items() if word != "unknown")
    change = summary["change"] or {}
    return [
        _mean_figure(summary, list_url),
        _rate_figure(
            "Passed",
            "pass_rate",
            summary,
            list_url(passed="true", **_COMPLETED),
            mean.count if mean else None,
        ),
        _rate_figure(
            "Auto-fail",
            "auto_fail_rate",
            summary,
            list_url(autoFailed="true", **_COMPLETED),
            summary["totals"]["completed"],
        ),
        _plain_figure(
            "Compliance",
            formatting.number(score["compliance_mean"], 1),
            change.get("compliance_mean"),
        ),
        _plain_figure(
            "Sentiment",
            formatting.signed(sentiment["mean_customer"], 2),
            change.get("mean_customer_sentiment"),
            places=2,
        ),
        Figure(
            "Resolved",
            formatting.percent(summary["resolution"]["resolved"] / known if known else None),
            None,
            "",
            list_url(resolution="resolved", **_COMPLETED),
            known,
        ),
    ]


def score_classes(summary: Mapping[str, Any], list_url: ListUrl) -> list[ScoreClass]:
    """Return the classes of the histogram, each with the link to its evaluations."""
    classes = []
    for score_class in summary["score"]["distribution"]:
        low, high = score_class["low"], score_class["high"]
        last = high if high == _HIGHEST_SCORE else high - 1
        href = list_url(**_WITH_VERDICT, minScore=str(low), maxScore=str(last))
        classes.append(ScoreClass(low, last, score_class["count"], href))
    return classes


def movers(members: Sequence[Mapping[str, Any]], deviation: float | None) -> list[Mover]:
    """Return the executives whose mean moved most, beyond its error, the largest change first.

    Only those with enough evaluations for a rank count.
    """
    moved = []
    for member in members:
        if deviation is None or not member["rank_eligible"]:
            continue
        now = MeasuredMean(member["mean_score"], deviation, member["with_verdict"])
        change = moved_mean(now, member["change"])
        if change is not None and change.is_clear:
            moved.append(Mover(member["id"], member["name"], change, member["evaluations"]))
    moved.sort(key=lambda mover: (-abs(mover.change.value), mover.name))
    return moved[:_MOST_MOVERS]


def _mean_figure(summary: Mapping[str, Any], list_url: ListUrl) -> Figure:
    now, before = mean_scores(summary)
    href = list_url(**_WITH_VERDICT)
    text = formatting.number(now.mean if now else None, 1)
    change = change_of(now, before)
    return Figure("Score", text, change, _change_text(change), href, now.count if now else None)


def _rate_figure(
    label: str, name: str, summary: Mapping[str, Any], href: str, count: int | None
) -> Figure:
    share = summary["score"][name]
    difference = (summary["change"] or {}).get(name)
    now, before = mean_scores(summary)
    change = None
    if share is not None and difference is not None and now is not None and before is not None:
        change = change_of(rate(share, now.count), rate(share - difference, before.count))
    return Figure(label, formatting.percent(share, 1), change, _change_text(change), href, count)


def _plain_figure(label: str, text: str, difference: float | None, *, places: int = 1) -> Figure:
    change = None if difference is None else Change(difference)
    return Figure(label, text, change, _change_text(change, places))


def _change_text(change: Change | None, places: int = 1) -> str:
    if change is None:
        return ""
    error = "" if change.error is None else f", ±{formatting.number(change.error, places)}"
    return formatting.signed(change.value, places) + error
