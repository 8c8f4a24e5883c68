"""The results document: scored criteria, facts and moments in one document."""

from typing import Any

from app.ai.facts.conversation_facts import Facts
from app.ai.facts.moments import moments_of
from app.ai.insights.dimensions import dimensions_of
from app.ai.insights.incidents import incidents_of
from app.ai.insights.outcome import Outcome, outcome_of
from app.ai.insights.signals import signals_of
from app.ai.insights.summary import issue_of, summary_of
from app.ai.insights.topics import topics_of
from app.ai.judge import Engine, Judgement, Quality
from app.ai.scorecard.values import Scorecard
from app.ai.scoring.coaching import coaching_of
from app.ai.scoring.documents import criterion_document, section_document
from app.ai.scoring.score import Score
from app.core.clock import iso_utc


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
    outcome = outcome_of(facts, score)
    turns, duration = facts.measures.get("turnCount"), facts.measures.get("durationSeconds")
    customer = facts.sentiment.customer
    results = _document(facts, scorecard, score, engine, quality, outcome, summary)
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
        topics=tuple(results["topics"]),
        confidence=score.confidence,
        turn_count=None if turns is None else int(turns),
        duration_seconds=None if duration is None else int(duration),
        engine=engine,
        results=results,
        segment_sentiments=facts.sentiment.segments,
        signals=signals_of(facts, score, results["dimensions"], outcome),
    )


def _document(
    facts: Facts,
    scorecard: Scorecard,
    score: Score,
    engine: Engine,
    quality: Quality,
    outcome: Outcome,
    summary: dict[str, Any] | None,
) -> dict[str, Any]:
    issue = issue_of(facts)
    generated_at = facts.context.generated_at
    return {
        "evaluationId": facts.context.evaluation_id,
        "status": "failed" if score.problem else "completed",
        "score": score.score,
        "rawScore": score.raw_score,
        "maxScore": 100,
        "complianceScore": score.compliance_score,
        "coverage": score.coverage,
        "noVerdictReason": score.no_verdict_reason,
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
        "sections": [section_document(section) for section in score.sections],
        "criteria": [criterion_document(judged) for judged in score.judged],
        "dimensions": dimensions_of(facts, score, outcome),
        "metrics": dict(facts.measures.values),
        "metricsMissing": facts.measures.missing_as_json(),
        "sentiment": facts.sentiment.as_json(),
        "topics": list(topics_of(facts, scorecard.topics, issue)),
        "resolution": outcome.as_json(),
        "summary": summary_of(facts, outcome, issue) if summary is None else summary,
        "moments": moments_of(facts, scorecard),
        "coaching": coaching_of(score, incidents_of(facts)),
        "quality": quality.as_json(),
        "reviews": [],
    }
