"""Datasets with several rows for each evaluation: its criteria, advice, moments and segments.

Quotes, and the texts of advice and segments, require `includeText`.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from orjson import loads
from sqlalchemy import func, select

from app.analytics.exports.datasets.columns import (
    Kind,
    LargeDataset,
    Row,
    Rows,
    Values,
    as_text,
    by_column,
    columns,
    time_formatter,
)
from app.analytics.exports.request import ExportRequest
from app.evaluations.enums import OVERRIDING_ACTIONS, ReviewAction
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript

_CRITERIA_COLUMNS = columns(
    {
        "evaluation_id": "text",
        "executive_id": "text",
        "campaign_id": "text",
        "section": "text",
        "criterion": "text",
        "weight": "number",
        "criticality": "text",
        "error_class": "text",
        "applicable": "boolean",
        "answer": "text",
        "normalized_score": "number",
        "judged_by": "text",
        "confidence": "number",
        "explanation": "text",
        "evidence_segment_ids": "list",
        "evidence_quotes": "list",
        "overridden": "boolean",
        "reviewer": "text",
        "review_reason": "text",
        "scorecard_version": "integer",
        "completed_at": "time",
        "title": "text",
        "section_title": "text",
        "executive": "text",
        "campaign": "text",
    }
)
BATCH_SIZE = 200
_NOT_REVIEWED = (None, None)
_DESCRIBED = itemgetter("section", "key", "weight", "criticality", "errorClass", "applicable")
_JUDGED = itemgetter("normalizedScore", "judgedBy", "confidence", "explanation")
_MOMENT = itemgetter("type", "severity", "label", "role", "segmentId", "startMs", "endMs")
_EVALUATION = Evaluation.__table__.c
_RESULT = EvaluationResult.__table__.c
_RESULTS = select(
    _EVALUATION.id,
    _EVALUATION.executive_id,
    _EVALUATION.campaign_id,
    _EVALUATION.scorecard_version,
    _EVALUATION.completed_at,
    _EVALUATION.executive,
    _EVALUATION.campaign,
    as_text(_RESULT.document).label("document"),
).join(EvaluationResult, EvaluationResult.evaluation_id == _EVALUATION.id)
# Each evaluation has at least one criterion; only the documents know how many.
_LEAST_ROWS = (
    select(func.count())
    .select_from(Evaluation.__table__)
    .join(EvaluationResult, EvaluationResult.evaluation_id == _EVALUATION.id)
)


def _values_of(
    rows_of: Callable[[Row, ExportRequest], Iterator[Row]],
) -> Callable[[Rows, ExportRequest], list[Values]]:
    return lambda evaluations, request: by_column(
        row for evaluation in evaluations for row in rows_of(evaluation, request)
    )


def _criteria_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, version, completed_at, executive, campaign, text = row
    document = loads(text)
    titles = {section["key"]: section["title"] for section in document.get("sections", ())}
    completed_at = time_formatter(request.zone)(completed_at)
    reviews = _last_reviews(document)
    for criterion in document.get("criteria", ()):
        evidence = criterion["evidence"]
        quotes = [item["quote"] for item in evidence] if request.include_text else None
        reviewer, reason = reviews.get(criterion["key"], _NOT_REVIEWED)
        answer = criterion["answer"]
        yield (
            evaluation_id,
            executive_id,
            campaign_id,
            *_DESCRIBED(criterion),
            None if answer is None else str(answer),
            *_JUDGED(criterion),
            [item["segmentId"] for item in evidence],
            quotes,
            criterion.get("original") is not None,
            reviewer,
            reason,
            version,
            completed_at,
            criterion["title"],
            titles.get(criterion["section"]),
            executive,
            campaign,
        )


def _last_reviews(document: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Map each reviewed criterion to the reviewer who last overrode or confirmed it, and the reason.

    Second opinions and open disputes leave an answer as it is and do not count.
    """
    last: dict[str, tuple[str | None, str | None]] = {}
    for review in document.get("reviews") or ():
        reviewer, reason = review["reviewer"], review["reason"]
        effective = review["action"] in OVERRIDING_ACTIONS
        if review["action"] == ReviewAction.CONFIRM or (effective and review["confirmsOthers"]):
            last |= {criterion["key"]: (reviewer, reason) for criterion in document["criteria"]}
        if effective:
            last |= {
                criterion["key"]: (reviewer, criterion["reason"] or reason)
                for criterion in review["criteria"]
            }
    return last


CRITERIA = LargeDataset(
    _CRITERIA_COLUMNS, _RESULTS, BATCH_SIZE, _values_of(_criteria_of), _LEAST_ROWS
)


_OF_EVALUATION: Mapping[str, Kind] = {
    "evaluation_id": "key",
    "executive_id": "key",
    "executive": "text",
    "campaign_id": "key",
    "campaign": "text",
}
_COACHING_COLUMNS = columns(
    {
        **_OF_EVALUATION,
        "kind": "key",
        "text": "text",
        "criterion": "key",
        "criterion_title": "text",
        "evidence_segment_ids": "list",
        "evidence_quotes": "list",
        "scorecard_version": "integer",
        "completed_at": "time",
    }
)
_KINDS = {"strength": "strengths", "improvement": "improvements"}
_MOMENTS_COLUMNS = columns(
    {
        **_OF_EVALUATION,
        "type": "key",
        "severity": "key",
        "label": "text",
        "role": "key",
        "segment_id": "key",
        "start_ms": "integer",
        "end_ms": "integer",
        "completed_at": "time",
    }
)


def _advice_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, version, completed_at, executive, campaign, text = row
    document = loads(text)
    completed_at = time_formatter(request.zone)(completed_at)
    of_evaluation = (evaluation_id, executive_id, executive, campaign_id, campaign)
    titles = {criterion["key"]: criterion["title"] for criterion in document.get("criteria", ())}
    coaching = document.get("coaching") or {}
    for kind, name in _KINDS.items():
        for advice in coaching.get(name, ()):
            evidence = advice["evidence"]
            yield (
                *of_evaluation,
                kind,
                advice["text"] if request.include_text else None,
                advice["criterionKey"],
                titles.get(advice["criterionKey"]),
                [item["segmentId"] for item in evidence],
                [item["quote"] for item in evidence] if request.include_text else None,
                version,
                completed_at,
            )


def _moments_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, _, completed_at, executive, campaign, text = row
    completed_at = time_formatter(request.zone)(completed_at)
    of_evaluation = (evaluation_id, executive_id, executive, campaign_id, campaign)
    for moment in loads(text).get("moments", ()):
        yield (*of_evaluation, *_MOMENT(moment), completed_at)


COACHING = LargeDataset(_COACHING_COLUMNS, _RESULTS, BATCH_SIZE, _values_of(_advice_of))
MOMENTS = LargeDataset(_MOMENTS_COLUMNS, _RESULTS, BATCH_SIZE, _values_of(_moments_of))


_SEGMENTS_COLUMNS = columns(
    {
        "evaluation_id": "text",
        "source_type": "text",
        "source_id": "text",
        "segment_id": "text",
        "index": "integer",
        "participant_id": "text",
        "role": "text",
        "start_ms": "integer",
        "end_ms": "integer",
        "sent_at": "time",
        "language": "text",
        "confidence": "number",
        "channel_index": "integer",
        "sentiment": "text",
        "sentiment_score": "number",
        "text": "text",
    }
)
_SEGMENTS_BATCH = 100
_TRANSCRIPTS = (
    select(
        _EVALUATION.id,
        _EVALUATION.source_type,
        _EVALUATION.source_id,
        as_text(StoredTranscript.__table__.c.segments).label("segments"),
        as_text(_RESULT.segment_sentiments).label("sentiments"),
    )
    .join(StoredTranscript, StoredTranscript.id == _EVALUATION.transcript_id)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _EVALUATION.id)
)
_LEAST_SEGMENTS = (
    select(func.sum(StoredTranscript.segment_count))
    .select_from(Evaluation.__table__)
    .join(StoredTranscript, StoredTranscript.id == _EVALUATION.transcript_id)
)


def _segments_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, source_type, source_id, segments, sentiments = row
    sentiment_of = loads(sentiments) if sentiments else {}
    format_time = time_formatter(request.zone)
    for index, segment in enumerate(loads(segments)):
        sentiment, score = sentiment_of.get(segment["id"], (None, None))
        yield (
            evaluation_id,
            source_type,
            source_id,
            segment["id"],
            index,
            segment.get("participantId"),
            segment["role"],
            segment.get("startMs"),
            segment.get("endMs"),
            format_time(segment.get("sentAt")),
            segment.get("language"),
            segment.get("confidence"),
            segment.get("channelIndex"),
            sentiment,
            score,
            segment["text"] if request.include_text else None,
        )


SEGMENTS = LargeDataset(
    _SEGMENTS_COLUMNS, _TRANSCRIPTS, _SEGMENTS_BATCH, _values_of(_segments_of), _LEAST_SEGMENTS
)
