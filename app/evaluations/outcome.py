"""Storing a judgement: columns, document, topics, search text, counts and the event."""

from typing import Any, Literal, cast

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.ai.judge import Judgement
from app.ai.scorecard.values import Scorecard
from app.calibration.calibrating import calibrated
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.engagements.service import count_evaluation
from app.evaluations.enums import ReviewStatus, Status
from app.evaluations.listing import folded
from app.evaluations.models import Evaluation, EvaluationResult, EvaluationTopic, SearchText
from app.events.catalogue import EventType
from app.events.outbox import publish
from app.events.payloads import EvaluationCompleted
from app.scorecards import service as scorecards


def store(
    session: Session, evaluation: Evaluation, judgement: Judgement, *, turn_count: int | None
) -> None:
    """Store the results document, and the columns that lists show and filter by.

    Where the engagement has an active calibration profile, the score is the calibrated one.
    """
    judgement = calibrated(
        session,
        judgement,
        engagement_id=evaluation.engagement_id,
        scorecard=lambda: scorecard_of(session, evaluation),
    )
    evaluation.score = judgement.score
    evaluation.raw_score = judgement.raw_score
    evaluation.compliance_score = judgement.compliance_score
    evaluation.judged_weight_percent = judgement.judged_weight_percent
    evaluation.passed = judgement.passed
    evaluation.pass_threshold = judgement.pass_threshold
    evaluation.band = judgement.band
    evaluation.auto_failed = judgement.auto_failed
    evaluation.failed_criteria = list(judgement.failed_criteria)
    evaluation.customer_sentiment = judgement.customer_sentiment
    evaluation.sentiment_trend = judgement.sentiment_trend
    evaluation.resolution = judgement.resolution
    evaluation.predicted_satisfaction = judgement.predicted_satisfaction
    evaluation.topics = list(dict.fromkeys(judgement.topics))
    evaluation.summary = judgement.results["summary"]
    evaluation.engine = judgement.engine.as_json()
    evaluation.confidence = judgement.confidence
    if judgement.needs_review and evaluation.review_status == ReviewStatus.NONE:
        evaluation.review_status = ReviewStatus.REQUESTED
    evaluation.turn_count = judgement.turn_count if turn_count is None else turn_count
    felt = {
        sentiment.segment_id: [sentiment.label, sentiment.score]
        for sentiment in judgement.segment_sentiments
    }
    session.add(
        EvaluationResult(
            evaluation_id=evaluation.id,
            document=judgement.results,
            segment_sentiments=felt,
            signals=dict(judgement.signals),
        )
    )
    session.add_all(
        EvaluationTopic(topic=topic, evaluation_id=evaluation.id) for topic in evaluation.topics
    )
    search = session.get(SearchText, evaluation.id)
    if search is not None:
        search.text = search_text(evaluation)
    session.flush()


def scorecard_of(session: Session, evaluation: Evaluation) -> Scorecard:
    """Return the scorecard version of an evaluation."""
    version = scorecards.version_of(session, evaluation.scorecard_id, evaluation.scorecard_version)
    return version.scorecard


def search_text(evaluation: Evaluation) -> str:
    """Return the text that `q` searches; each part on its own line, so that no match spans two."""
    summary: dict[str, Any] = evaluation.summary or {}
    parts = (
        evaluation.external_id,
        evaluation.executive,
        evaluation.campaign,
        evaluation.call_center,
        summary.get("overview"),
        summary.get("issue"),
        summary.get("outcome"),
    )
    return "\n".join(folded(part) for part in parts if part)


def count(session: Session, evaluation: Evaluation) -> None:
    """Count each evaluated source once: a further revision does not count again.

    So `evaluationCount` is the number of conversations, recordings and calls that have a
    completed evaluation in the engagement, and so it is with a campaign. Call it before the
    evaluation itself is completed.
    """
    engagement_id, campaign_id = evaluation.engagement_id, evaluation.campaign_id
    if engagement_id and not _is_counted(session, evaluation, Evaluation.engagement_id):
        count_evaluation(session, engagement_id)
    if campaign_id and not _is_counted(session, evaluation, Evaluation.campaign_id):
        campaigns.count(session, campaign_id, CampaignCount.EVALUATIONS)


def score_moved(session: Session, before: Evaluation | None, after: Evaluation) -> None:
    """Update the mean scores of campaigns: those of current evaluations with a verdict."""
    if before is not None and before.campaign_id and before.ranked_score is not None:
        campaigns.note_score(session, before.campaign_id, -before.ranked_score, -1)
    if after.campaign_id and after.ranked_score is not None:
        campaigns.note_score(session, after.campaign_id, after.ranked_score, 1)


def announce(session: Session, evaluation: Evaluation) -> None:
    """Publish `evaluation.completed`."""
    if evaluation.score is None:
        raise ValueError("a completed evaluation has a score")
    data = EvaluationCompleted(
        evaluation_id=evaluation.id,
        engagement_id=evaluation.engagement_id or "",
        campaign=evaluation.campaign or "",
        score=evaluation.score,
        # The column is a str to the type checker; `open_evaluation` took it from the enum.
        channel=cast(Literal["voice", "chat", "voice_bot"], evaluation.channel),
        duration_seconds=evaluation.duration_seconds or 0,
    )
    publish(session, EventType.EVALUATION_COMPLETED, data)


def _is_counted(
    session: Session, evaluation: Evaluation, group: InstrumentedAttribute[str | None]
) -> bool:
    counted = session.scalar(
        select(Evaluation.id)
        .where(
            Evaluation.source_id == evaluation.source_id,
            Evaluation.source_type == evaluation.source_type,
            group == getattr(evaluation, group.key),
            Evaluation.status == Status.COMPLETED,
        )
        .limit(1)
    )
    return counted is not None
