"""Results of a judgement: one document of scored criteria, facts, dimensions and coaching.

Where a model has an opinion of the whole conversation (`facts.opinion`), ratings follow from it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from app.core.clock import iso_utc
from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import CONTRADICTS, Evidence
from app.judge.facts.conversation_facts import (
    Facts,
    breach_evidence,
    distinct,
    quoted,
    rude_replies,
    shown,
)
from app.judge.facts.moments import moments_of
from app.judge.facts.requests import (
    effectiveness,
    state_advice,
    state_evidence,
    state_sentence,
    worst_first,
)
from app.judge.insights.outcome import Outcome, outcome_of
from app.judge.insights.summary import issue_of, summary_of
from app.judge.insights.topics import topics_of
from app.judge.judge import Engine, Judgement, Quality
from app.judge.ledger.status import PARTLY, UNRESOLVED
from app.judge.scorecard.schema import DIMENSIONS
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.documents import (
    coaching_of,
    criterion_document,
    score_document,
    section_document,
    with_quote,
)
from app.judge.scoring.score import Score
from app.judge.wording import sentence

SCORE = "score"
EFFORT = "dimension.effort"
# The professionalism of correct but unfriendly agents.
_CORRECT = 0.72
# The dimension of resolution at most where the request stayed unresolved, however well it was treated.
_MOST_UNRESOLVED = 0.5
_FACTOR_PER_PROFANITY = 0.35
_WEIGHT_OF_UNANSWERED = 0.25
_COUNTED = 3
_BREACHES = {
    Act.TELL_OTHER: "told_other",
    Act.THREATEN: "threaten",
    Act.MOCK: "mock",
    Act.PRESS: "press",
}


def judgement_of(
    facts: Facts,
    scorecard: Scorecard,
    score: Score,
    engine: Engine,
    quality: Quality,
    summary: dict[str, Any] | None = None,
) -> Judgement:
    """Build a judgement from the facts, the score and the quality.

    Args:
        summary: one that a language model wrote; without it sentences are quoted.
    """
    outcome, issue = outcome_of(facts), issue_of(facts)
    dimensions = _dimensions(facts, score, outcome)
    topics = topics_of(facts, scorecard.topics, issue)
    generated_at = facts.context.generated_at
    results = {
        "evaluationId": facts.context.evaluation_id,
        "status": "failed" if score.problem else "completed",
        **score_document(score, scorecard),
        "scorecard": {"id": scorecard.id, "version": scorecard.version, "name": scorecard.name},
        "engine": engine.as_json(),
        "generatedAt": None if generated_at is None else iso_utc(generated_at),
        "revision": facts.context.revision,
        "sections": [section_document(section) for section in score.sections],
        "criteria": [criterion_document(judged) for judged in score.judged],
        "dimensions": dimensions,
        "metrics": dict(facts.measures.values),
        "metricsMissing": facts.measures.missing_as_json(),
        "metricsUncertain": list(facts.measures.uncertain),
        "sentiment": facts.sentiment.as_json(),
        "topics": list(topics),
        "resolution": outcome.as_json(),
        "summary": summary_of(facts, outcome, issue) if summary is None else summary,
        "moments": moments_of(facts, scorecard),
        "coaching": coaching_of(score, _incidents(facts, score, outcome)),
        "quality": quality.as_json(),
        "reviews": [],
    }
    turns, duration = facts.measures.get("turnCount"), facts.measures.get("durationSeconds")
    customer = facts.sentiment.customer
    return Judgement(
        problem=score.problem,
        score=score.score,
        raw_score=score.raw_score,
        compliance_score=score.compliance_score,
        judged_weight_percent=round(100 * score.coverage, 2),
        passed=score.passed,
        pass_threshold=scorecard.pass_threshold,
        band=score.band,
        auto_failed=score.scope == "evaluation",
        failed_criteria=score.failed_criteria,
        customer_sentiment=customer.overall,
        sentiment_trend=customer.trend,
        resolution=outcome.status,
        predicted_satisfaction=outcome.satisfaction,
        topics=topics,
        confidence=score.confidence,
        turn_count=None if turns is None else int(turns),
        duration_seconds=None if duration is None else int(duration),
        engine=engine,
        results=results,
        segment_sentiments=facts.sentiment.segments,
        signals=_signals(facts, score, dimensions, outcome),
    )


def _dimensions(facts: Facts, score: Score, outcome: Outcome) -> dict[str, float | None]:
    """Work out the dimensions from the criteria that feed them, the reading and the outcome."""
    dimensions = {name: _of_criteria(score, name) for name in DIMENSIONS}
    if facts.opinion is not None and outcome.probability is not None:
        effective = effectiveness(facts)
        resolution = (effective + outcome.probability) / 2
        most = _MOST_UNRESOLVED if outcome.status == UNRESOLVED else 1.0
        dimensions["resolution"] = min(resolution, most)
        dimensions["effort"] = effective
        dimensions["responsiveness"] = _responsiveness(facts, dimensions["responsiveness"])
    if facts.readings.agent:
        dimensions["professionalism"] = _professionalism(facts)
    dimensions["customerSentiment"] = _feeling(facts, outcome)
    return {name: None if value is None else round(value, 4) for name, value in dimensions.items()}


def _of_criteria(score: Score, name: str) -> float | None:
    pairs = [
        (item.criterion.weight, item.answer.worth)
        for item in score.judged
        if item.criterion.dimension == name and item.answer.worth is not None
    ]
    total = math.fsum(weight for weight, _ in pairs)
    return math.fsum(weight * share for weight, share in pairs) / total if total else None


def _feeling(facts: Facts, outcome: Outcome) -> float | None:
    """Return how the customer felt, 0 to 1: by the words, and by how content they leave."""
    overall = facts.sentiment.customer.overall
    if overall is None:
        return None
    felt = (1 + overall) / 2
    return felt if outcome.satisfaction is None else (felt + (outcome.satisfaction - 1) / 4) / 2


def _professionalism(facts: Facts) -> float:
    abusive = facts.said_at("profanity")
    if facts.opinion is not None:
        # A reader's rating of the whole forgives single lines.
        manner = facts.opinion.share("manner") * math.sqrt(facts.readings.manners)
        return manner * _FACTOR_PER_PROFANITY ** len(abusive)
    friendly = _CORRECT + (1 - _CORRECT) * min(1.0, 1.6 * facts.readings.courtesy)
    return friendly * facts.readings.manners * _FACTOR_PER_PROFANITY ** len(abusive)


def _responsiveness(facts: Facts, of_criteria: float | None) -> float:
    unanswered = len(facts.exchanges.open_questions) + len(facts.said_at("fallback"))
    share_answered = 1 / (1 + _WEIGHT_OF_UNANSWERED * unanswered)
    return share_answered if of_criteria is None else (of_criteria + share_answered) / 2


def _incidents(facts: Facts, score: Score, outcome: Outcome) -> list[dict[str, Any]]:
    """List the incidents as entries of the coaching, the danger first."""
    return [
        *_ignored_danger(facts),
        *_breaches(facts),
        *_rudeness(facts),
        *_unserved(facts, score, outcome),
    ]


def _breaches(facts: Facts) -> Iterator[dict[str, Any]]:
    """Yield what the service side should never do, whatever the scorecard asks."""
    for act, key in _BREACHES.items():
        evidence = breach_evidence(facts, act)
        if evidence:
            yield _entry(facts.sentence(f"incident.{key}"), sentence(f"advice.{key}"), evidence)


def _unserved(facts: Facts, score: Score, outcome: Outcome) -> list[dict[str, Any]]:
    """Return what to do better about the request that fared worst, where no criterion says it."""
    said = any(
        item.criterion.rule == "completeness" and item.answer.applicable for item in score.judged
    )
    if said or outcome.status not in (UNRESOLVED, PARTLY):
        return []
    for entry in worst_first(facts.ledger.matters)[:1]:
        happened, advice = state_sentence(facts, entry), state_advice(facts, entry)
        if happened and advice:
            return [_entry(happened, advice, (state_evidence(facts, entry),))]
    return []


def _ignored_danger(facts: Facts) -> list[dict[str, Any]]:
    if not facts.dialogue.attributed:
        return []
    dangers = facts.heard("danger")
    reported = dangers[0].line.position if dangers else -1
    after = [line for line in facts.dialogue.service if line.position > reported]
    if not dangers or not after or facts.said("urgency", lines=after):
        return []
    evidence = quoted(dangers[:1], CONTRADICTS)
    return [_entry(facts.sentence("incident.danger"), sentence("advice.danger"), evidence)]


def _rudeness(facts: Facts) -> list[dict[str, Any]]:
    told = facts.said_at("profanity")
    told |= {breach.line.line.position for breach in facts.readings.breaches}
    rude = [reply for reply in rude_replies(facts) if reply.line.position not in told]
    if not rude:
        return []
    worst = sorted(rude, key=lambda reply: -reply.rude)[:_COUNTED]
    in_order = sorted(worst, key=lambda reply: reply.line.position)
    evidence = distinct(shown(reply, ("dismissive",), CONTRADICTS) for reply in in_order)
    key = "incident.rude_often" if len(rude) > _COUNTED else "incident.rude"
    return [_entry(facts.sentence(key), sentence("advice.rude"), evidence)]


def _entry(happened: str, advice: str, evidence: tuple[Evidence, ...]) -> dict[str, Any]:
    return {
        "text": f"{with_quote(happened, evidence[0])} {advice}",
        "criterionKey": None,
        "evidence": [piece.as_json() for piece in evidence],
    }


def _signals(
    facts: Facts, score: Score, dimensions: Mapping[str, float | None], outcome: Outcome
) -> dict[str, float]:
    """Gather the score before critical failures, the dimensions, the predictions and the course.

    What was not judged is left out. Empty where the words are not read: then there is nothing that
    a calibration could go by.
    """
    if facts.opinion is None:
        return {}
    signals = {
        SCORE: score.raw_score,
        **{f"dimension.{name}": value for name, value in dimensions.items()},
        "resolutionProbability": outcome.probability,
        "predictedSatisfaction": outcome.satisfaction,
        "effectiveness": facts.opinion.rating("effectiveness"),
        "manner": facts.opinion.rating("manner"),
        **facts.course_values,
    }
    return {name: round(value, 4) for name, value in signals.items() if value is not None}
