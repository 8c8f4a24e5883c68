"""The dataset `criteria`: a row for each evaluation and criterion (contract B11)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orjson import loads
from sqlalchemy import select

from app.analytics.datasets.cells import Row, Values, by_column, columns, moments_in, plain
from app.analytics.wishes import Wish
from app.core.snapshots import Rows
from app.evaluations.models import Evaluation, EvaluationResult

COLUMNS = columns(
    "evaluation_id executive_id campaign_id section criterion weight:number criticality "
    "error_class applicable:truth answer normalized_score:number judged_by confidence:number "
    "explanation evidence_segment_ids:words evidence_quotes:words overridden:truth reviewer "
    "review_reason scorecard_version:whole completed_at"
)
BATCH = 200
_OF = Evaluation.__table__.c
_RESULT = EvaluationResult.__table__.c
ROWS = select(
    _OF.id,
    _OF.executive_id,
    _OF.campaign_id,
    _OF.scorecard_version,
    _OF.completed_at,
    plain(_RESULT.document).label("document"),
).join(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)


def values(rows: Rows, wish: Wish) -> list[Values]:
    """Return the columns of these evaluations' criteria.

    Quotes are words of the conversation: they come with `includeText` alone.
    """
    return by_column(each for row in rows for each in _of_evaluation(row, wish))


def _of_evaluation(row: Row, wish: Wish) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, version, completed_at, text = row
    document = loads(text)
    completed_at = moments_in(wish.zone)(completed_at)
    reviews = document.get("reviews") or []
    for each in document.get("criteria", ()):
        evidence = each["evidence"]
        quotes = [item["quote"] for item in evidence] if wish.include_text else None
        review = _review(reviews, each["key"])
        answer = each["answer"]
        yield (
            evaluation_id,
            executive_id,
            campaign_id,
            each["section"],
            each["key"],
            each["weight"],
            each["criticality"],
            each["errorClass"],
            each["applicable"],
            None if answer is None else str(answer),
            each["normalizedScore"],
            each["judgedBy"],
            each["confidence"],
            each["explanation"],
            [item["segmentId"] for item in evidence],
            quotes,
            each.get("original") is not None,
            review.get("reviewer"),
            review.get("reason"),
            version,
            completed_at,
        )


def _review(reviews: Sequence[Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    """Return the last review of a criterion."""
    own = [each for each in reviews if each.get("criterionKey") == key]
    return own[-1] if own else {}
