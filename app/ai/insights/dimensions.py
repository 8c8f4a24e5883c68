"""The dimensions of a judgement, each 0 to 1 where 1 is good, or None where not judgeable."""

import math

from app.ai.facts.gathering import Facts
from app.ai.insights.outcome import Outcome
from app.ai.scorecard.shapes import DIMENSIONS
from app.ai.scoring.score import Score

# The word list's share of the customer's sentiment; the rest is how unlikely annoyance is.
_FEELING = 0.2
# The share of a course without obstacles in the resolution; the rest is how likely it is.
_EASE = 2 / 3
_HOSTILE = 0.35
# How much the tone of the agent's words, -1 to 1, takes from or leaves of the professionalism.
_TONE = 0.25
_OPEN = 0.25


def dimensions_of(facts: Facts, score: Score, outcome: Outcome) -> dict[str, float | None]:
    """Work out the dimensions from the criteria that feed them, the reading and the outcome."""
    found = {name: _of_criteria(score, name) for name in DIMENSIONS}
    reading = facts.reading
    if reading is not None and outcome.probability is not None:
        ease = reading.friction.ease
        found["resolution"] = _EASE * ease + (1 - _EASE) * outcome.probability
        found["effort"] = ease
        found["professionalism"] = _professionalism(facts, found["professionalism"])
        found["responsiveness"] = _responsiveness(facts, found["responsiveness"])
    found["customerSentiment"] = _feeling(facts, outcome)
    return {name: None if value is None else round(value, 4) for name, value in found.items()}


def _of_criteria(score: Score, name: str) -> float | None:
    pairs = [
        (item.criterion.weight, item.answer.score)
        for item in score.judged
        if item.criterion.dimension == name and item.answer.score is not None
    ]
    total = math.fsum(weight for weight, _ in pairs)
    return math.fsum(weight * share for weight, share in pairs) / total if pairs else None


def _feeling(facts: Facts, outcome: Outcome) -> float | None:
    overall = facts.sentiment.customer.overall
    if overall is None:
        return None
    if outcome.annoyed is None or facts.reading is None:
        return (1 + overall) / 2
    words = (1 + facts.reading.features["sentimentMean"]) / 2
    return _FEELING * words + (1 - _FEELING) * (1 - outcome.annoyed)


def _professionalism(facts: Facts, of_criteria: float | None) -> float:
    # Abuse pulls down whatever else was courteous, and so does, by far less, an unfriendly tone.
    abusive = {cue.line.position for cue in facts.said("profanity")}
    manners = 1.0 if of_criteria is None else (1 + of_criteria) / 2
    tone = facts.sentiment.agent.overall or 0.0
    return manners * (1 - _TONE + _TONE * tone) * _HOSTILE ** len(abusive)


def _responsiveness(facts: Facts, of_criteria: float | None) -> float | None:
    reading = facts.reading
    if reading is None:
        return of_criteria
    fallbacks = {cue.line.position for cue in facts.said("fallback")}
    left = len(reading.exchanges.open_questions) + len(fallbacks)
    answered = 1 / (1 + _OPEN * left)
    return answered if of_criteria is None else (of_criteria + answered) / 2
