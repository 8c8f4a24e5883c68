"""The judgement as contract B6 tells it: scored criteria, facts and moments in one document."""

import math
from typing import Any

from app.ai.closing_rules import is_transferred
from app.ai.coaching import coaching_of
from app.ai.facts import Facts
from app.ai.judge import Engine, Judgement, Quality
from app.ai.moments import moments_of
from app.ai.scorecard import Scorecard
from app.ai.scorecard_shapes import DIMENSIONS
from app.ai.scoring import Judged, Score, SectionScore
from app.core.clock import iso_utc


def judgement_of(
    facts: Facts, scorecard: Scorecard, score: Score, engine: Engine, quality: Quality
) -> Judgement:
    """Put a judgement together from what was judged and measured.

    Topics, summary, predicted satisfaction and the probability of a resolution are empty here: a
    judge that makes them adds them.
    """
    resolution = _resolution(facts, score)
    turns, duration = facts.measures.get("turnCount"), facts.measures.get("durationSeconds")
    customer = facts.sentiment.customer
    return Judgement(
        problem=score.problem,
        score=score.score,
        raw_score=score.raw_score,
        compliance_score=score.compliance_score,
        passed=score.passed,
        pass_threshold=scorecard.pass_threshold,
        band=score.band,
        auto_failed=score.scope == "evaluation",
        failed_criteria=score.failed_criteria,
        customer_sentiment=customer.overall,
        sentiment_trend=customer.trend,
        resolution=resolution["status"],
        predicted_satisfaction=None,
        topics=(),
        confidence=score.confidence,
        turn_count=None if turns is None else int(turns),
        duration_seconds=None if duration is None else int(duration),
        engine=engine,
        results=_document(facts, scorecard, score, engine, quality, resolution),
        segment_sentiments=facts.sentiment.segments,
    )


def _document(
    facts: Facts,
    scorecard: Scorecard,
    score: Score,
    engine: Engine,
    quality: Quality,
    resolution: dict[str, Any],
) -> dict[str, Any]:
    generated_at = facts.context.generated_at
    return {
        "evaluationId": facts.context.evaluation_id,
        "status": "failed" if score.problem else "completed",
        "score": score.score,
        "rawScore": score.raw_score,
        "maxScore": 100,
        "complianceScore": score.compliance_score,
        "band": score.band,
        "passed": score.passed,
        "passThreshold": scorecard.pass_threshold,
        "autoFail": {
            "triggered": score.scope is not None,
            "scope": score.scope,
            "criteria": list(score.critical_failures),
        },
        "scorecard": {"id": scorecard.id, "version": scorecard.version, "name": scorecard.name},
        "engine": engine.as_json(),
        "generatedAt": None if generated_at is None else iso_utc(generated_at),
        "revision": facts.context.revision,
        "sections": [_section(section) for section in score.sections],
        "criteria": [_criterion(judged) for judged in score.judged],
        "dimensions": _dimensions(facts, score),
        "metrics": dict(facts.measures.values),
        "metricsMissing": facts.measures.missing_as_json(),
        "sentiment": facts.sentiment.as_json(),
        "topics": [],
        "resolution": resolution,
        "summary": {"overview": None, "issue": None, "outcome": None, "actionItems": []},
        "moments": moments_of(facts, scorecard),
        "coaching": coaching_of(score),
        "quality": quality.as_json(),
        "reviews": [],
    }


def _section(section: SectionScore) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "weight": section.weight,
        "score": section.score,
        "rawScore": section.raw_score,
        "applicable": section.applicable,
        "autoFailed": section.auto_failed,
        "criteriaCount": section.criteria_count,
    }


def _criterion(judged: Judged) -> dict[str, Any]:
    criterion, answer = judged.criterion, judged.answer
    improvable = answer.score is not None and answer.score < 1
    return {
        "key": criterion.key,
        "title": criterion.title,
        "section": criterion.section,
        "question": criterion.question,
        "type": criterion.kind,
        "weight": criterion.weight,
        "criticality": criterion.criticality,
        "errorClass": criterion.error_class,
        "applicable": answer.applicable,
        "answer": answer.answer,
        "normalizedScore": None if answer.score is None else round(answer.score, 4),
        "points": None if judged.points is None else round(judged.points, 2),
        "maxPoints": criterion.weight,
        "explanation": answer.explanation,
        "confidence": answer.confidence,
        "judgedBy": answer.judged_by,
        "failure": answer.failure,
        "evidence": [item.as_json() for item in answer.evidence],
        "suggestion": criterion.suggestion if improvable else None,
        "original": None,
    }


def _dimensions(facts: Facts, score: Score) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in DIMENSIONS:
        pairs = [
            (item.criterion.weight, item.answer.score)
            for item in score.judged
            if item.criterion.dimension == name and item.answer.score is not None
        ]
        total = math.fsum(weight for weight, _ in pairs)
        mean = math.fsum(weight * share for weight, share in pairs) / total if pairs else None
        found[name] = None if mean is None else round(mean, 4)
    feeling = facts.sentiment.customer.overall
    found["customerSentiment"] = None if feeling is None else round((1 + feeling) / 2, 4)
    return found


def _resolution(facts: Facts, score: Score) -> dict[str, Any]:
    # Only what is said outright: that nobody confirms a solution doesn't make it unresolved.
    readable = facts.dialogue.english
    transferred = is_transferred(facts)
    status, explanation, evidence = "unknown", "Whether it was resolved is not judged.", []
    for item in score.judged:
        if item.criterion.rule == "resolution_confirmed" and item.answer.answer == "yes":
            status, explanation = "resolved", item.answer.explanation
            evidence = [piece.as_json() for piece in item.answer.evidence]
    if transferred:
        status, explanation, evidence = "escalated", "The customer was transferred.", []
    promised = bool(facts.said("commitment") or facts.said("next_step"))
    return {
        "status": status,
        "probability": None,
        "explanation": explanation,
        "evidence": evidence,
        "followUpPromised": promised if readable else None,
        "escalated": transferred if readable or facts.context.transferred is not None else None,
    }
