"""Changes that reviews make to a finished evaluation; the judge's own results are kept."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.core.clock import utc_now
from app.core.database.upserts import insert_missing
from app.core.errors import Conflict
from app.evaluations import revisions, service
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult, EvaluationReviewer

_MEMBERS = {
    "score": "score",
    "raw_score": "rawScore",
    "compliance_score": "complianceScore",
    "passed": "passed",
    "band": "band",
}


def find_reviewable(
    session: Session, evaluation_id: str, *, for_update: bool
) -> tuple[Evaluation, EvaluationResult]:
    """Return a finished evaluation and its results, locked until the commit if `for_update`.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not completed, or a newer revision replaces it.
    """
    evaluation = service.find(session, evaluation_id, for_update=for_update)
    if evaluation.status != Status.COMPLETED:
        raise Conflict(
            f"The evaluation is {evaluation.status}: only a completed one can be reviewed."
        )
    if not evaluation.is_current:
        raise Conflict("A newer revision replaces this one: review that.")
    return evaluation, session.get_one(EvaluationResult, evaluation_id)


def judged_document(result: EvaluationResult) -> dict[str, Any]:
    """Return the results as the judge wrote them."""
    return result.as_judged or result.document


def amend(
    session: Session,
    evaluation: Evaluation,
    result: EvaluationResult,
    *,
    document: dict[str, Any],
    failed_criteria: Sequence[str],
) -> None:
    """Replace the results, and the columns that lists and analytics read.

    The first change keeps the judge's own document. No event is published:
    `evaluation.completed` is published once, when the judge has finished.
    """
    if result.as_judged is None:
        result.as_judged = result.document
    result.document = document
    before = evaluation.ranked_score
    for column, member in _MEMBERS.items():
        setattr(evaluation, column, document[member])
    if document.get("coverage") is not None:
        evaluation.judged_weight_percent = round(100 * document["coverage"], 2)
    evaluation.auto_failed = document["autoFail"]["scope"] == "evaluation"
    evaluation.failed_criteria = list(failed_criteria)
    evaluation.resolution = document["resolution"]["status"]
    after = evaluation.ranked_score
    if evaluation.campaign_id:
        campaigns.note_score(
            session,
            evaluation.campaign_id,
            (after or 0) - (before or 0),
            (after is not None) - (before is not None),
        )


def note_review(
    session: Session,
    evaluation: Evaluation,
    result: EvaluationResult,
    *,
    review: dict[str, Any],
    reviewer: str | None,
    status: str,
) -> None:
    """Add a review to the results, set the review status, and notify.

    Args:
        review: in the shape of `schemas.reviews.ReviewSchema`.
        reviewer: by whom the filter `reviewed_by` then finds the evaluation.
    """
    if reviewer is not None:
        insert_missing(session, EvaluationReviewer, reviewer=reviewer, evaluation_id=evaluation.id)
    result.document = {**result.document, "reviews": [*result.document["reviews"], review]}
    evaluation.review_status = status
    evaluation.updated_at = utc_now()
    session.flush()
    revisions.notify_changed(session, evaluation)
