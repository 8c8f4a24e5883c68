"""Storing judgements: columns, documents, topics, search texts, counts and events."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.core.hooks import hooks_of
from app.engagements.service import count_evaluations
from app.evaluations.enums import ReviewStatus, Status
from app.evaluations.listing import normalised
from app.evaluations.models import Evaluation, EvaluationResult, EvaluationTopic, SearchText
from app.events.catalogue import EventType
from app.events.data import ConversationFailed, EvaluationCompleted
from app.events.outbox import publish, publish_all
from app.judge.judge import Judgement
from app.judge.scorecard.values import Scorecard
from app.scorecards import service as scorecards

Source = tuple[str, str]


@dataclass(frozen=True, slots=True)
class EvaluationCompletion:
    """A judgement to store with its evaluation.

    A language or duration of None keeps the known one; without a `turn_count` that of the judgement
    is stored.
    """

    evaluation: Evaluation
    judgement: Judgement
    language: str | None
    duration_seconds: int | None
    turn_count: int | None = None


def store(session: Session, judged: Sequence[EvaluationCompletion]) -> dict[str, Any]:
    """Store the results documents, and the columns that lists show and filter by.

    Where an engagement has an active calibration profile, the score is the calibrated one. Returns
    the documents, by evaluation.
    """
    evaluations = [item.evaluation for item in judged]
    calibrated = {
        engagement_id: hooks_of(session).calibration(session, engagement_id)
        for engagement_id in {evaluation.engagement_id for evaluation in evaluations}
    }
    results = []
    for item in judged:
        evaluation = item.evaluation
        judgement = calibrated[evaluation.engagement_id](
            item.judgement, scorecard=partial(scorecard_of, session, evaluation)
        )
        _set_columns(evaluation, judgement, item.turn_count)
        results.append(_result_of(evaluation, judgement))
    session.add_all(results)
    session.add_all(
        EvaluationTopic(topic=topic, evaluation_id=evaluation.id)
        for evaluation in evaluations
        for topic in evaluation.topics
    )
    by_id = {evaluation.id: evaluation for evaluation in evaluations}
    for search in session.scalars(select(SearchText).where(SearchText.evaluation_id.in_(by_id))):
        search.text = search_text(by_id[search.evaluation_id])
    return {result.evaluation_id: result.document for result in results}


def _set_columns(evaluation: Evaluation, judgement: Judgement, turn_count: int | None) -> None:
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


def _result_of(evaluation: Evaluation, judgement: Judgement) -> EvaluationResult:
    sentiments = {
        sentiment.segment_id: [sentiment.label, sentiment.score]
        for sentiment in judgement.segment_sentiments
    }
    return EvaluationResult(
        evaluation_id=evaluation.id,
        document=judgement.results,
        segment_sentiments=sentiments,
        signals=dict(judgement.signals),
    )


def scorecard_of(session: Session, evaluation: Evaluation) -> Scorecard:
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
    return "\n".join(normalised(part) for part in parts if part)


def count(
    session: Session, completed: Sequence[Evaluation], of_sources: Mapping[Source, list[Evaluation]]
) -> None:
    """Count each evaluated source once: a further revision does not count again.

    The `evaluationCount` of an engagement or a campaign is the number of its conversations,
    recordings and calls that have a completed evaluation. Call it before the evaluations
    themselves are completed.
    """
    of_engagement: Counter[str] = Counter()
    of_campaign: Counter[str] = Counter()
    # Revisions of merged campaigns may not be moved yet.
    revisions = chain(completed, *of_sources.values())
    ids = {row.campaign_id: row.campaign_id for row in revisions if row.campaign_id}
    present = ids | campaigns.into_ids(session, ids) if ids else {}
    for evaluation in completed:
        earlier = [
            revision
            for revision in of_sources[evaluation.source_type, evaluation.source_id]
            if revision.status == Status.COMPLETED
        ]
        engagement_id = evaluation.engagement_id
        campaign_id = present.get(evaluation.campaign_id or "")
        if engagement_id and engagement_id not in {row.engagement_id for row in earlier}:
            of_engagement[engagement_id] += 1
        if campaign_id and campaign_id not in {
            present.get(row.campaign_id or "") for row in earlier
        }:
            of_campaign[campaign_id] += 1
    for engagement_id, number in of_engagement.items():
        count_evaluations(session, engagement_id, number)
    for campaign_id, number in of_campaign.items():
        campaigns.count(session, campaign_id, CampaignCount.EVALUATIONS, by=number)


def update_campaign_means(
    session: Session, moves: Iterable[tuple[Evaluation | None, Evaluation]]
) -> None:
    """Update the mean scores of campaigns: those of current evaluations with a verdict.

    Args:
        moves: the former current evaluation of a source, if any, and the one that is current now.
    """
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for before, after in moves:
        for evaluation, sign in ((before, -1), (after, 1)):
            if evaluation and evaluation.campaign_id and evaluation.ranked_score is not None:
                sums[evaluation.campaign_id] += sign * evaluation.ranked_score
                numbers[evaluation.campaign_id] += sign
    for campaign_id in numbers:
        campaigns.note_score(session, campaign_id, sums[campaign_id], numbers[campaign_id])


def announce(session: Session, completed: Sequence[Evaluation]) -> None:
    publish_all(session, EventType.EVALUATION_COMPLETED, [*map(_announcement, completed)])


def announce_failure(session: Session, evaluation: Evaluation, *, code: str, message: str) -> None:
    """Publish `conversation.failed` for the source of an evaluation."""
    data = ConversationFailed(
        source_type=cast(
            Literal["audio_file", "conversation", "voice_call"], evaluation.source_type
        ),
        source_id=evaluation.source_id,
        evaluation_id=evaluation.id,
        engagement_id=evaluation.engagement_id or "",
        campaign=evaluation.campaign or "",
        code=code,
        message=message,
    )
    publish(session, EventType.CONVERSATION_FAILED, data)


def _announcement(evaluation: Evaluation) -> EvaluationCompleted:
    if evaluation.score is None:
        raise ValueError("a completed evaluation has a score")
    return EvaluationCompleted(
        evaluation_id=evaluation.id,
        engagement_id=evaluation.engagement_id or "",
        campaign=evaluation.campaign or "",
        score=evaluation.score,
        # The column is a str to the type checker; `open_evaluation` took it from the enum.
        channel=cast(Literal["voice", "chat", "voice_bot"], evaluation.channel),
        duration_seconds=evaluation.duration_seconds or 0,
    )
