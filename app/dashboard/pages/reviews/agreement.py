"""Agreement of the judge with people, criterion by criterion, each with its confusion table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import render_template

from app.agents import disputes
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.tables import ConfusionTable, confusion_table
from app.dashboard.queries import filters_of_request
from app.dashboard.views import formatting
from app.dashboard.words import text_of
from app.reviews import service as reviews
from app.reviews.schemas.agreement import AgreementQuery
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("agreement", __name__)
_SCHEMA = AgreementQuery()


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


@blp.get("/review/agreement")
@require_scope("evaluations:review")
def show() -> str:
    """Show the agreement of a period, criterion by criterion."""
    page_filters = filters_of_request(for_figures=True)
    selection = page_filters.selection(page_filters.load(_SCHEMA))
    with current_runtime().db.reading() as session:
        report = reviews.agreement(session, selection)
        disputed = disputes.figures(session, selection)
    return render_template(
        "reviews/agreement.html",
        page_filters=page_filters,
        report=report,
        rows=agreement_rows(report),
        disputes=disputed,
        upheld=[
            (row["title"], row["disputed"], _interval(row["upheld"]))
            for row in disputed["criteria"]
        ],
        upheld_of_all=_interval(disputed["upheld"]),
        score_sentence=_score_sentence(report["score"]),
    )


def agreement_rows(report: Mapping[str, Any]) -> list[AgreementRow]:
    """Return the rows of the criteria, and of the resolution."""
    resolution = {**report["resolution"], "title": "Resolution"}
    return [_row(question) for question in (*report["criteria"], resolution)]


def _score_sentence(score: Mapping[str, Any]) -> str:
    """Return how far the judge's scores are from those of people, or why that is not known."""
    if score["bias"] is None:
        return _reason(score)
    bias = score["bias"]["value"]
    direction = "higher" if bias > 0 else "lower"
    return (
        f"The judge's scores are {_estimate(score['mae'], 1)} points away from people's on average, "
        f"and {abs(bias):.1f} points {direction}. {score['pairs']} pairs."
    )


def _estimate(statistic: Mapping[str, Any] | None, places: int = 2) -> str:
    """Write a statistic with its interval."""
    if statistic is None:
        return formatting.MISSING
    value = f"{statistic['value']:.{places}f}"
    if statistic["low"] is None:
        return value
    return f"{value} ({statistic['low']:.{places}f} to {statistic['high']:.{places}f})"


def _interval(rate: Mapping[str, Any] | None) -> str:
    if rate is None:
        return "none decided yet"
    value, low, high = (formatting.percent(rate[name]) for name in ("value", "low", "high"))
    return f"{value} ({low} to {high}), {rate['hits']} of {rate['count']}"


def _row(question: Mapping[str, Any]) -> AgreementRow:
    agreement = question["percent_agreement"]
    return AgreementRow(
        title=question["title"],
        pairs=question["pairs"],
        same_answers=formatting.percent(None if agreement is None else agreement["value"] / 100),
        kappa=_estimate(question["kappa"]),
        people_kappa=_estimate(question["human_human"]["kappa"]),
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
