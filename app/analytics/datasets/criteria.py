"""The dataset `criteria`: a row for each evaluation and criterion."""

from collections.abc import Iterator, Mapping
from typing import Any

from orjson import loads
from sqlalchemy import func, select

from app.analytics.datasets.cells import Row, Values, by_column, columns, moments_in, plain
from app.analytics.wishes import Wish
from app.core.snapshots import Rows
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation, EvaluationResult

COLUMNS = columns(
    "evaluation_id executive_id campaign_id section criterion weight:number criticality "
    "error_class applicable:truth answer normalized_score:number judged_by confidence:number "
    "explanation evidence_segment_ids:words evidence_quotes:words overridden:truth reviewer "
    "review_reason scorecard_version:whole completed_at"
)
BATCH = 200
_EFFECTIVE = (ReviewAction.OVERRIDE, ReviewAction.ACCEPT_DISPUTE)
_NOBODY = (None, None)
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
# Of each evaluation one at least; how many there are stands in the documents alone.
LEAST_ROWS = (
    select(func.count())
    .select_from(Evaluation.__table__)
    .join(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)
)


def values(rows: Rows, wish: Wish) -> list[Values]:
    """Return the columns of these evaluations' criteria.

    Quotes are words of the conversation: they come with `includeText` alone.
    """
    return by_column(each for row in rows for each in _of_evaluation(row, wish))


def _of_evaluation(row: Row, wish: Wish) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, version, completed_at, text = row
    document = loads(text)
    completed_at = moments_in(wish.zone)(completed_at)
    reviews = _last_reviews(document)
    for each in document.get("criteria", ()):
        evidence = each["evidence"]
        quotes = [item["quote"] for item in evidence] if wish.include_text else None
        reviewer, reason = reviews.get(each["key"], _NOBODY)
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
            reviewer,
            reason,
            version,
            completed_at,
        )


def _last_reviews(document: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Map criteria to who has last overridden or confirmed them, and why.

    Second opinions and what is merely contested leave an answer as it is, and don't count.
    """
    found: dict[str, tuple[str | None, str | None]] = {}
    for review in document.get("reviews") or ():
        reviewer, reason = review["reviewer"], review["reason"]
        effective = review["action"] in _EFFECTIVE
        if review["action"] == ReviewAction.CONFIRM or (effective and review["confirmsOthers"]):
            found |= {each["key"]: (reviewer, reason) for each in document["criteria"]}
        if effective:
            found |= {
                each["key"]: (reviewer, each["reason"] or reason) for each in review["criteria"]
            }
    return found
