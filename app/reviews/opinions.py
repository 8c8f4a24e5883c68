"""What a reviewer stands for, beside what the engine had said: the pairs that agreement is told by."""

from collections.abc import Mapping
from typing import Any

from app.ai.scorecard.values import Scorecard
from app.ai.scoring.rescoring import Rescored
from app.reviews.ratings import Rating


def ratings_stood_for(
    document: Mapping[str, Any],
    given: Mapping[str, Rating],
    scored: Rescored | None,
    *,
    scorecard: Scorecard,
    others: bool,
    takes_part: bool,
) -> dict[str, Any]:
    """Map the key of each criterion that the reviewer has looked at to both sides' words.

    Args:
        document: the results before this review.
        scored: the same with the given ratings.
        others: the reviewer stands for every other criterion as it was.
        takes_part: False for who speaks in their own cause.
    """
    if not takes_part:
        return {}
    after = {each["key"]: each for each in (scored.results if scored else document)["criteria"]}
    found = {}
    for before in document["criteria"]:
        key = before["key"]
        if not others and key not in given:
            continue
        engine = before["original"] or before
        found[key] = {
            "title": before["title"],
            "type": before["type"],
            "options": sorted({float(each.score) for each in scorecard.criterion(key).options}),
            "judge": _side(engine),
            "human": _side(after[key]),
        }
    return found


def rated_score(
    document: Mapping[str, Any],
    given: int | None,
    stood_for: Mapping[str, Any],
    scored: Rescored | None,
) -> float | None:
    """Return the reviewer's overall score: as given, else as it follows from all their answers."""
    if given is not None:
        return given
    results = scored.results if scored else document
    applicable = {each["key"] for each in results["criteria"] if each["applicable"]}
    if not applicable or not stood_for.keys() >= applicable:
        return None
    score: int = results["score"]
    return score


def _side(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "applicable": shown["applicable"],
        "answer": shown["answer"],
        "score": shown["normalizedScore"],
    }
