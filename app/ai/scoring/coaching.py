"""What to praise and what to practise, from the criteria that were judged."""

from collections.abc import Iterable
from typing import Any

from app.ai.scoring.score import Judged, Score

_MOST = 3
# Rules that are fulfilled by what was not said, which is no strength.
_BY_ABSENCE = frozenset({"data_handling", "forbidden_phrases", "understanding"})
# What fails the whole evaluation, or its section, comes before what merely costs points.
_URGENCY = {"evaluation": 2, "section": 1, "none": 0}


def coaching_of(score: Score) -> dict[str, list[dict[str, Any]]]:
    """List up to three strengths and improvements, those of the most weight first.

    A strength is something that was done or measured: that nothing bad was said is none.
    """
    judged = [item for item in score.judged if item.answer.score is not None]
    strong = [item for item in judged if item.answer.score == 1 and _is_shown(item)]
    weak = [item for item in judged if item.answer.score != 1]
    return {
        "strengths": [
            _entry(item, item.answer.explanation)
            for item in _first((item, (item.criterion.weight,)) for item in strong)
        ],
        "improvements": [
            _entry(item, f"{item.criterion.suggestion} {item.answer.explanation}")
            for item in _first((item, _loss(item)) for item in weak)
        ],
    }


def _is_shown(item: Judged) -> bool:
    if item.criterion.rule in _BY_ABSENCE and item.answer.judged_by == "rule":
        return False
    return bool(item.answer.evidence) or item.answer.judged_by != "rule"


def _loss(item: Judged) -> tuple[float, ...]:
    urgency = _URGENCY[item.criterion.criticality] if item.failed else 0
    return urgency, item.criterion.weight * (1 - (item.answer.score or 0))


def _first(items: Iterable[tuple[Judged, tuple[float, ...]]]) -> list[Judged]:
    # The sort is stable, so that equal weights keep the order of the scorecard.
    ranked = sorted(items, key=lambda pair: [-value for value in pair[1]])
    return [item for item, _ in ranked[:_MOST]]


def _entry(item: Judged, text: str) -> dict[str, Any]:
    return {
        "text": text,
        "criterionKey": item.criterion.key,
        "evidence": [piece.as_json() for piece in item.answer.evidence],
    }
