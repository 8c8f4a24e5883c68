"""Lowest conversations: those behind the weak mean of a criterion, and the worst and the best of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import select

from app.analytics.engine.database import score_column
from app.analytics.engine.facts import CRITERION
from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Selection
from app.analytics.models import EvaluationFact

_MOST = 3


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """The score, 0 to 100, of one criterion in one evaluation."""

    evaluation_id: str
    score: float


def lowest_of_criteria(
    facts: FactReader, selection: Selection, keys: Sequence[str], *, highest: bool = False
) -> dict[str, list[CriterionScore]]:
    """Return up to three evaluations of each criterion: the lowest scores below 100, or the highest.

    Of equal scores the newest come first.
    """
    if not keys:
        return {}
    numbers = tuple(_lowest(score_of(facts, key), highest=highest) for key in keys)
    # One group of all facts; none if there are no facts.
    groups = facts.aggregate(selection, Aggregation(numbers=numbers, combine=_together))
    found = {
        key: sorted(scores or (), key=itemgetter("order", "newest"))[:_MOST]
        for of_all_criteria in groups.values()
        for key, scores in zip(keys, of_all_criteria, strict=True)
    }
    evaluation_ids = _evaluation_ids(
        facts, [-fact["newest"] for scores in found.values() for fact in scores]
    )
    return {
        key: [
            CriterionScore(evaluation_ids[-fact["newest"]], float(fact["score"])) for fact in scores
        ]
        for key, scores in found.items()
    }


def worst_and_best(facts: FactReader, selection: Selection) -> list[tuple[str, int]]:
    """Return the evaluations with the lowest and with the highest score; empty without two verdicts.

    Of equal scores the newest comes first.
    """
    with_verdict = "FILTER (WHERE passed IS NOT NULL)"
    numbers = (
        f"min({{'score': score, 'newest': -id}}, 1) {with_verdict}",
        f"max({{'score': score, 'newest': id}}, 1) {with_verdict}",
    )
    groups = facts.aggregate(selection, Aggregation(numbers=numbers, combine=_together))
    by_age = itemgetter("score", "newest")
    ends = [
        pick(some, key=by_age)
        for lows, highs in groups.values()
        for pick, some in ((min, lows or ()), (max, highs or ()))
        if some
    ]
    ids = _evaluation_ids(facts, [abs(fact["newest"]) for fact in ends])
    found = [(ids[abs(fact["newest"])], int(fact["score"])) for fact in ends]
    return found if len(ids) > 1 else []


def score_of(facts: FactReader, key: str) -> str:
    """Return the SQL of the score of a criterion, which each layout has at a place of its own."""
    places = {
        layout_id: place
        for layout_id, columns in facts.layouts.items()
        for place, column in enumerate(columns)
        if column["kind"] == CRITERION and column["key"] == key
    }
    cases = (f"WHEN {layout_id} THEN {score_column(place)}" for layout_id, place in places.items())
    return f"CASE score_layout_id {' '.join(cases)} END" if places else "NULL"


def _lowest(score: str, *, highest: bool) -> str:
    """Return the SQL of the facts that come first; `newest` is the negative id of a fact."""
    order, condition = (f"-({score})", "IS NOT NULL") if highest else (f"({score})", "< 100")
    fact = f"{{'order': {order}, 'newest': -id, 'score': {score}}}"
    return f"min({fact}, {_MOST}) FILTER (WHERE {score} {condition})"


def _together(some: list[Any] | None, others: list[Any] | None) -> list[Any]:
    return [*(some or ()), *(others or ())]


def _evaluation_ids(facts: FactReader, fact_ids: Sequence[int]) -> dict[int, str]:
    statement = select(EvaluationFact.id, EvaluationFact.evaluation_id)
    return dict(facts.session.execute(statement.where(EvaluationFact.id.in_(fact_ids))).all())
