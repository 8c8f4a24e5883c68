"""Results of evaluations: the document of the judge, under the names of its evaluation."""

from typing import Any

from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation, EvaluationResult

# The members that every results document has, as they are before there is one (contract B6).
_NOTHING_YET: dict[str, Any] = {
    "score": None,
    "rawScore": None,
    "maxScore": 100,
    "complianceScore": None,
    "band": None,
    "passed": None,
    "passThreshold": None,
    "autoFail": None,
    "engine": None,
    "sections": [],
    "criteria": [],
    "dimensions": None,
    "metrics": {},
    "metricsMissing": [],
    "sentiment": None,
    "topics": [],
    "resolution": None,
    "summary": None,
    "moments": [],
    "coaching": None,
    "quality": None,
    "reviews": [],
}


def results_of(
    session: Session, evaluation: Evaluation, *, as_judged: bool = False
) -> dict[str, Any]:
    """Return the results document of an evaluation; without one, nulls and empty lists.

    Args:
        as_judged: as the engine made it, before anybody reviewed it.
    """
    result = session.get(EvaluationResult, evaluation.id)
    document: dict[str, Any] = result.document if result else {}
    if result is not None and as_judged:
        document = {**(result.as_judged or result.document), "reviews": []}
    return {
        **_NOTHING_YET,
        **document,
        "evaluationId": evaluation.id,
        "status": evaluation.status,
        "scorecard": {
            "id": evaluation.scorecard_id,
            "version": evaluation.scorecard_version,
            "name": evaluation.scorecard_name,
        },
        "generatedAt": evaluation.completed_at,
        "revision": evaluation.revision,
    }
