"""Figures of a period: means and rates with their errors, their changes, and the lists that they count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.analytics.reports.means import Change, MeasuredMean, change_of, rate
from app.dashboard.charts.scores import ScoreClass
from app.dashboard.views import formatting

ListUrl = Callable[..., str]
_MOST_MOVERS = 5
_HIGHEST_SCORE = 100
_COMPLETED = {"status": "completed"}
# What means, pass rates and distributions count.
_WITH_VERDICT = {**_COMPLETED, "hasVerdict": "true"}


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


def moved_mean(mean: MeasuredMean | None, change: Mapping[str, Any] | None) -> Change | None:
    """Return the change of a mean since the period before, None where that is not known.

    The period before is taken to have as many evaluations, spread as widely.
    """
    difference = change["mean_score"] if change else None
    if mean is None or difference is None:
        return None
    return change_of(mean, replace(mean, mean=mean.mean - difference))


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
