"""Rating pairs: what the judge and a reviewer answered to the same criterion."""

from collections.abc import Mapping
from typing import Any

from app.ai.scorecard.values import Scorecard
from app.ai.scoring.documents import Rescored
from app.reviews.ratings import Rating


def rating_pairs(
    document: Mapping[str, Any],
    ratings: Mapping[str, Rating],
    scored: Rescored | None,
    *,
    scorecard: Scorecard,
    confirms_others: bool,
) -> dict[str, Any]:
    """Map the key of each criterion that the reviewer rated to the pair of answers.

    Args:
        document: the results before this review.
        scored: the results with these ratings, None without any.
        confirms_others: whether the reviewer agrees with every criterion that is not in `ratings`.
    """
    after = {
        criterion["key"]: criterion
        for criterion in (scored.results if scored else document)["criteria"]
    }
    pairs = {}
    for before in document["criteria"]:
        key = before["key"]
        if not confirms_others and key not in ratings:
            continue
        engine = before["original"] or before
        pairs[key] = {
            "title": before["title"],
            "type": before["type"],
            "options": sorted({float(option.score) for option in scorecard.criterion(key).options}),
            "judge": _side(engine),
            "human": _side(after[key]),
        }
    return pairs


def rated_score(
    document: Mapping[str, Any],
    own_score: int | None,
    pairs: Mapping[str, Any],
    scored: Rescored | None,
) -> float | None:
    """Return the reviewer's overall score: their own, or computed if every criterion was rated."""
    if own_score is not None:
        return own_score
    results = scored.results if scored else document
    applicable = {criterion["key"] for criterion in results["criteria"] if criterion["applicable"]}
    if not applicable or not pairs.keys() >= applicable:
        return None
    score: int = results["score"]
    return score


def _side(criterion: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "applicable": criterion["applicable"],
        "answer": criterion["answer"],
        "score": criterion["normalizedScore"],
    }
