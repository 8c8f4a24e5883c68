"""Results of an evaluation: the stored document, completed with metrics that are decided later."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.core.hooks import hooks_of
from app.evaluations.models import Evaluation, EvaluationResult

# Every member of a results document, as shown before the judge has written one.
_EMPTY_RESULTS: dict[str, Any] = {
    "score": None,
    "rawScore": None,
    "maxScore": 100,
    "complianceScore": None,
    "coverage": None,
    "noVerdictReason": None,
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

_SEALED: Mapping[str, Any] = {
    "reason": None,
    "criteria": [],
    "confirmsOthers": False,
    "score": None,
    "resolution": None,
    "satisfaction": None,
    "sealed": True,
}


@dataclass(frozen=True, slots=True)
class LateMetric:
    """A metric that is decided after the judgement; without a value it has a reason."""

    metric: str
    value: float | None
    reason: str = ""


def results_of(
    session: Session, evaluation: Evaluation, *, as_judged: bool = False
) -> dict[str, Any]:
    """Return the results of an evaluation; before it is judged, nulls and empty lists.

    Args:
        as_judged: return the judge's own results, without later reviews.
    """
    result = session.get(EvaluationResult, evaluation.id)
    document: dict[str, Any] = result.document if result else {}
    if result is not None and as_judged:
        document = {**(result.as_judged or result.document), "reviews": []}
    if document.get("reviews"):
        reviews = unsealed(session, evaluation.id, document["reviews"])
        document = {**document, "reviews": reviews}
    late_metrics = hooks_of(session).late_metrics if document else ()
    return {
        **_EMPTY_RESULTS,
        **_with_late_metrics(document, [late(session, evaluation) for late in late_metrics]),
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


def unsealed(
    session: Session, evaluation_id: str, reviews: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the reviews of an evaluation, without the answers of those that are sealed."""
    sealed = hooks_of(session).sealed_reviews(session, evaluation_id)
    return [{**review, **_SEALED} if review["id"] in sealed else review for review in reviews]


def _with_late_metrics(
    document: dict[str, Any], metrics: Iterable[LateMetric | None]
) -> dict[str, Any]:
    known = {metric.metric: metric for metric in metrics if metric is not None}
    if not known:
        return document
    missing = [entry for entry in document["metricsMissing"] if entry["metric"] not in known]
    missing += [
        {"metric": metric.metric, "reason": metric.reason}
        for metric in known.values()
        if metric.value is None
    ]
    values = {name: metric.value for name, metric in known.items()}
    return {**document, "metrics": {**document["metrics"], **values}, "metricsMissing": missing}
