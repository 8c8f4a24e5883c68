"""Agreement of the judge with people: one row for each criterion, with its confusion table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.dashboard.charts.heat import ConfusionTable, confusion_table
from app.dashboard.views import formatting
from app.dashboard.words import text_of


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Agreement of the judge with people on one question, as texts.

    `reason` says why statistics are missing; then they are dashes.
    """

    title: str
    pairs: int
    same_answers: str
    kappa: str
    people_kappa: str
    reason: str
    confusion: ConfusionTable | None


def agreement_rows(report: Mapping[str, Any]) -> list[AgreementRow]:
    """Return the rows of the criteria, and of the resolution."""
    resolution = {**report["resolution"], "title": "Resolution"}
    return [_row(question) for question in (*report["criteria"], resolution)]


def score_sentence(score: Mapping[str, Any]) -> str:
    """Return how far the judge's scores are from those of people, or why that is not known."""
    if score["bias"] is None:
        return _reason(score)
    bias = score["bias"]["value"]
    direction = "higher" if bias > 0 else "lower"
    return (
        f"The judge's scores are {estimate(score['mae'], 1)} points away from people's on average, "
        f"and {abs(bias):.1f} points {direction}. {score['pairs']} pairs."
    )


def estimate(statistic: Mapping[str, Any] | None, places: int = 2) -> str:
    """Write a statistic with its interval."""
    if statistic is None:
        return formatting.MISSING
    value = f"{statistic['value']:.{places}f}"
    if statistic["low"] is None:
        return value
    return f"{value} ({statistic['low']:.{places}f} to {statistic['high']:.{places}f})"


def _row(question: Mapping[str, Any]) -> AgreementRow:
    agreement = question["percent_agreement"]
    return AgreementRow(
        title=question["title"],
        pairs=question["pairs"],
        same_answers=formatting.percent(None if agreement is None else agreement["value"] / 100),
        kappa=estimate(question["kappa"]),
        people_kappa=estimate(question["human_human"]["kappa"]),
        reason=_reason(question),
        confusion=_confusion(question["confusion"]),
    )


def _confusion(confusion: Mapping[str, Any] | None) -> ConfusionTable | None:
    if confusion is None:
        return None
    labels = [
        text_of("resolution", category) if isinstance(category, str) else f"{category:g}"
        for category in confusion["categories"]
    ]
    return confusion_table(labels, confusion["counts"])


def _reason(statistics: Mapping[str, Any]) -> str:
    return next((missing["reason"] for missing in statistics["missing"]), "")
