"""Calibration round as one person may see it: blind until their own answers are saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.formatting import MISSING
from app.dashboard.views.scored import NOT_APPLICABLE, answer_text

RATED = "rated"


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One conversation of a round.

    Attributes:
        evaluation: the row of the list; None where it is not kept any more.
        cells: a text for each person: a score, or whether they have rated it.
        spread: the distance between the highest and the lowest score of people.
        is_to_rate: whether the signed-in person has yet to rate it.
    """

    evaluation_id: str
    evaluation: Mapping[str, Any] | None
    cells: Sequence[str]
    judge: str
    spread: str
    is_to_rate: bool


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """A criterion of a conversation that people have answered differently."""

    evaluation_id: str
    title: str
    judge: str
    cells: Sequence[str]


def rows_of(
    calibration_round: Mapping[str, Any],
    evaluations: Mapping[str, Mapping[str, Any]],
    unrated: Sequence[str],
) -> list[RoundRow]:
    """Return a row for each conversation; while any is unrated, no score is in them."""
    ratings = {
        (rating["evaluation_id"], rating["reviewer"]): rating
        for rating in calibration_round["ratings"]
    }
    rows = []
    for evaluation_id in calibration_round["evaluation_ids"]:
        cells = [
            ratings.get((evaluation_id, reviewer)) for reviewer in calibration_round["reviewers"]
        ]
        scores = [rating["score"] for rating in cells if rating and rating["score"] is not None]
        judge = next((rating["judge_score"] for rating in cells if rating), None)
        rows.append(
            RoundRow(
                evaluation_id=evaluation_id,
                evaluation=evaluations.get(evaluation_id),
                cells=[_cell(rating, is_blind=bool(unrated)) for rating in cells],
                judge=MISSING if unrated or judge is None else f"{judge:g}",
                spread=MISSING if unrated or len(scores) < 2 else f"{max(scores) - min(scores):g}",
                is_to_rate=evaluation_id in unrated,
            )
        )
    return rows


def differences_of(calibration_round: Mapping[str, Any]) -> list[ShownDifference]:
    """Return the answers that differ, a text for each person of the round."""
    differences = []
    for difference in calibration_round["differences"]:
        answers = {answer["reviewer"]: _answer(answer) for answer in difference["answers"]}
        differences.append(
            ShownDifference(
                evaluation_id=difference["evaluation_id"],
                title=difference["title"],
                judge=_answer(difference["judge"]),
                cells=[
                    answers.get(reviewer, MISSING) for reviewer in calibration_round["reviewers"]
                ],
            )
        )
    return differences


def _cell(rating: Mapping[str, Any] | None, *, is_blind: bool) -> str:
    if rating is None:
        return MISSING
    return RATED if is_blind or rating["score"] is None else f"{rating['score']:g}"


def _answer(answer: Mapping[str, Any]) -> str:
    if not answer["applicable"]:
        return NOT_APPLICABLE
    return answer_text({**answer, "normalizedScore": answer["normalized_score"]})
