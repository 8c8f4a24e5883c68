"""The dimensions of a judgement, each 0 to 1 where 1 is good, or None where not judgeable."""

import math

from app.ai.conduct.readings import Readings
from app.ai.facts.conversation_facts import Facts
from app.ai.insights.outcome import Outcome, pleasantness
from app.ai.scorecard.schema import DIMENSIONS
from app.ai.scoring.score import Score

# Weak negative feeling says little, and most customers are not annoyed.
_DEAD_ZONE = 0.15
_USUALLY_ANNOYED = 0.1
_LOGIT_BOUND = 0.001
# The professionalism of correct but unfriendly agents.
_CORRECT = 0.72
# Resolution is 2/3 ease (few obstacles) and 1/3 predicted probability.
_EASE_WEIGHT = 2 / 3
_FACTOR_PER_PROFANITY = 0.35
_WEIGHT_OF_UNANSWERED = 0.25


def dimensions_of(facts: Facts, score: Score, outcome: Outcome) -> dict[str, float | None]:
    """Work out the dimensions from the criteria that feed them, the reading and the outcome."""
    dimensions = {name: _of_criteria(score, name) for name in DIMENSIONS}
    reading = facts.model_input
    if reading is not None and outcome.probability is not None:
        ease = reading.friction.ease
        dimensions["resolution"] = _EASE_WEIGHT * ease + (1 - _EASE_WEIGHT) * outcome.probability
        dimensions["effort"] = ease
        dimensions["responsiveness"] = _responsiveness(facts, dimensions["responsiveness"])
    if facts.readings is not None and facts.readings.agent:
        dimensions["professionalism"] = _professionalism(facts, facts.readings)
    dimensions["customerSentiment"] = _feeling(facts, outcome)
    return {name: None if value is None else round(value, 4) for name, value in dimensions.items()}


def _of_criteria(score: Score, name: str) -> float | None:
    pairs = [
        (item.criterion.weight, item.answer.score)
        for item in score.judged
        if item.criterion.dimension == name and item.answer.score is not None
    ]
    total = math.fsum(weight for weight, _ in pairs)
    return math.fsum(weight * share for weight, share in pairs) / total if total else None


def _feeling(facts: Facts, outcome: Outcome) -> float | None:
    overall = facts.sentiment.customer.overall
    if overall is None or facts.model_input is None:
        return None if overall is None else (1 + overall) / 2
    beyond = -max(0.0, -overall - _DEAD_ZONE) / (1 - _DEAD_ZONE) if overall < 0 else overall / 2
    words = pleasantness(facts, facts.model_input)
    annoyed = _logit(_USUALLY_ANNOYED if outcome.annoyed is None else outcome.annoyed)
    return 0.5 + 0.5 * math.tanh(0.6 * beyond + 0.6 * words - 0.09 * (annoyed + 2.5) + 0.1)


def _logit(probability: float) -> float:
    bounded = min(1 - _LOGIT_BOUND, max(_LOGIT_BOUND, probability))
    return math.log(bounded / (1 - bounded))


def _professionalism(facts: Facts, readings: Readings) -> float:
    abusive = {cue.line.position for cue in facts.said("profanity")}
    friendly = _CORRECT + (1 - _CORRECT) * min(1.0, 1.6 * readings.courtesy)
    return friendly * readings.manners * _FACTOR_PER_PROFANITY ** len(abusive)


def _responsiveness(facts: Facts, of_criteria: float | None) -> float | None:
    reading = facts.model_input
    if reading is None:
        return of_criteria
    fallbacks = {cue.line.position for cue in facts.said("fallback")}
    unanswered = len(reading.exchanges.open_questions) + len(fallbacks)
    share_answered = 1 / (1 + _WEIGHT_OF_UNANSWERED * unanswered)
    return share_answered if of_criteria is None else (of_criteria + share_answered) / 2
