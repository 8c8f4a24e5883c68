"""Result of a trial as pages show it: the figures before and after, the chart, the largest changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.charts.scatter import PairedScore, ScatterChart, scatter_chart
from app.dashboard.views.formatting import number, percent, signed

MOST_CHANGES = 20
# From a larger change of the mean on, publishing asks again.
LARGE_CHANGE = 5


@dataclass(frozen=True, slots=True)
class TrialFigure:
    """A figure of the conversations that both scorecards give a verdict to."""

    label: str
    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A conversation whose score changes."""

    name: str
    href: str
    before: int
    after: int
    change: str
    verdict: str


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """The result of a trial."""

    figures: Sequence[TrialFigure]
    changes: Sequence[ScoreChange]
    chart: ScatterChart | None


def shown_trial(result: Mapping[str, Any], names: Mapping[str, str]) -> ShownTrial:
    """Prepare a result.

    Args:
        names: what each evaluation is called, by its id.
    """
    both = [
        item for item in result["conversations"] if item.is_compared and item.evaluation_id in names
    ]
    before, after = result["before"], result["after"]
    passed = _difference(before["pass_rate"], after["pass_rate"])
    figures = [
        TrialFigure(
            "Mean score",
            number(before["mean_score"], 1),
            number(after["mean_score"], 1),
            signed(mean_change(result)),
        ),
        TrialFigure(
            "Passed",
            percent(before["pass_rate"]),
            percent(after["pass_rate"]),
            "" if passed is None else f"{signed(100 * passed, 0)} points",
        ),
    ]
    pairs = [
        PairedScore(names[item.evaluation_id], item.before, item.after, _href(item))
        for item in both
    ]
    changes = [
        ScoreChange(
            names[item.evaluation_id],
            _href(item),
            item.before,
            item.after,
            signed(item.change, 0),
            _verdict(item.passed_before, item.passed_after),
        )
        for item in both[:MOST_CHANGES]
        if item.change
    ]
    return ShownTrial(figures, changes, scatter_chart(pairs))


def mean_change(result: Mapping[str, Any]) -> float | None:
    """Return how much the mean score rises; None where nothing could be compared."""
    return _difference(result["before"]["mean_score"], result["after"]["mean_score"])


def large_change_text(result: Mapping[str, Any]) -> str:
    """Say how the mean moves where it moves so much that publishing asks again; else nothing."""
    change = mean_change(result)
    if change is None or abs(change) <= LARGE_CHANGE:
        return ""
    means = [number(result[side]["mean_score"], 1) for side in ("before", "after")]
    return (
        f"In the trial, the mean score of {result['compared']} conversations moved from {means[0]} "
        f"to {means[1]} ({signed(change)})."
    )


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _href(item: Any) -> str:
    return f"/evaluations/{item.evaluation_id}"


def _verdict(before: bool | None, after: bool | None) -> str:
    if before == after:
        return "passes in both" if after else "fails in both"
    return "passes now" if after else "fails now"
