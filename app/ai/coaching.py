"""What to praise and what to practise, from the criteria that were judged."""

from collections.abc import Iterable
from typing import Any

from app.ai.scoring import Judged, Score

_MOST = 3


def coaching_of(score: Score) -> dict[str, list[dict[str, Any]]]:
    """List up to three strengths and improvements, those of the most weight first."""
    judged = [item for item in score.judged if item.answer.score is not None]
    strong = [item for item in judged if item.answer.score == 1]
    weak = [item for item in judged if item.answer.score != 1]
    return {
        "strengths": [
            _entry(item, item.answer.explanation)
            for item in _heaviest((item, item.criterion.weight) for item in strong)
        ],
        "improvements": [
            _entry(item, item.criterion.suggestion)
            for item in _heaviest((item, _lost(item)) for item in weak)
        ],
    }


def _lost(item: Judged) -> float:
    return item.criterion.weight * (1 - (item.answer.score or 0))


def _heaviest(items: Iterable[tuple[Judged, float]]) -> list[Judged]:
    # The sort is stable, so that equal weights keep the order of the scorecard.
    return [item for item, _ in sorted(items, key=lambda pair: -pair[1])[:_MOST]]


def _entry(item: Judged, text: str) -> dict[str, Any]:
    return {
        "text": text,
        "criterionKey": item.criterion.key,
        "evidence": [piece.as_json() for piece in item.answer.evidence],
    }
