"""The numbers of a judgement that a calibration may weigh."""

from collections.abc import Mapping

from app.ai.facts.conversation_facts import Facts
from app.ai.insights.outcome import Outcome
from app.ai.scoring.score import Score

SCORE = "score"
EFFORT = "dimension.effort"


def signals_of(
    facts: Facts, score: Score, dimensions: Mapping[str, float | None], outcome: Outcome
) -> dict[str, float]:
    """Gather the score before critical failures, the dimensions, the predictions and the features.

    What was not judged is left out. Empty where the words are not read: then there is nothing that
    a calibration could go by.
    """
    if facts.model_input is None:
        return {}
    signals = {
        SCORE: score.raw_score,
        **{f"dimension.{name}": value for name, value in dimensions.items()},
        "resolutionProbability": outcome.probability,
        "predictedSatisfaction": outcome.satisfaction,
        **facts.model_input.features,
    }
    return {name: round(value, 4) for name, value in signals.items() if value is not None}
