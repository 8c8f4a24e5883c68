"""Dataset `criteria`: one row for each evaluation and criterion."""

from collections.abc import Iterator, Mapping
from typing import Any

from orjson import loads
from sqlalchemy import func, select

from app.analytics.exports.datasets.columns import (
    Row,
    Values,
    as_text,
    by_column,
    columns,
    time_formatter,
)
from app.analytics.exports.datasets.large import LargeDataset
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.snapshots import Rows
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation, EvaluationResult

_COLUMNS = columns(
    "evaluation_id executive_id campaign_id section criterion weight:number criticality "
    "error_class applicable:boolean answer normalized_score:number judged_by confidence:number "
    "explanation evidence_segment_ids:list evidence_quotes:list overridden:boolean reviewer "
    "review_reason scorecard_version:integer completed_at:time "
    "title section_title executive campaign"
)
BATCH_SIZE = 200
_EFFECTIVE = (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE)
_NOT_REVIEWED = (None, None)
_EVALUATION = Evaluation.__table__.c
_RESULT = EvaluationResult.__table__.c
RESULTS = select(
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


def _values(rows: Rows, request: ExportRequest) -> list[Values]:
    """Return the columns of these evaluations' criteria; quotes require `includeText`."""
    return by_column(criterion for row in rows for criterion in _criteria_of(row, request))


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
            criterion["section"],
            criterion["key"],
            criterion["weight"],
            criterion["criticality"],
            criterion["errorClass"],
            criterion["applicable"],
            None if answer is None else str(answer),
            criterion["normalizedScore"],
            criterion["judgedBy"],
            criterion["confidence"],
            criterion["explanation"],
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
        effective = review["action"] in _EFFECTIVE
        if review["action"] == ReviewAction.CONFIRM or (effective and review["confirmsOthers"]):
            last |= {criterion["key"]: (reviewer, reason) for criterion in document["criteria"]}
        if effective:
            last |= {
                criterion["key"]: (reviewer, criterion["reason"] or reason)
                for criterion in review["criteria"]
            }
    return last


DATASET = LargeDataset(_COLUMNS, RESULTS, BATCH_SIZE, _values, _LEAST_ROWS)
