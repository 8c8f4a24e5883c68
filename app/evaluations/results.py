"""Results of evaluations: the document of the judge, under the names of its evaluation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation, EvaluationResult

# The members that every results document has, as they are before there is one (contract B6).
_NOTHING_YET: dict[str, Any] = {
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


@dataclass(frozen=True, slots=True)
class LateMetric:
    """A metric that time decides after the judgement; None with the reason, like any other."""

    metric: str
    value: float | None
    reason: str = ""


LateReader = Callable[[Session, Evaluation], LateMetric | None]

_late_readers: list[LateReader] = []


def on_read(reader: LateReader) -> None:
    """Ask a room above for a metric whenever results are read; wired once."""
    if reader not in _late_readers:
        _late_readers.append(reader)


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
    told = [reader(session, evaluation) for reader in _late_readers] if document else []
    return {
        **_NOTHING_YET,
        **_brought_up_to_date(document, [each for each in told if each is not None]),
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


def _brought_up_to_date(document: dict[str, Any], late: Iterable[LateMetric]) -> dict[str, Any]:
    known = {each.metric: each for each in late}
    if not known:
        return document
    missing = [each for each in document["metricsMissing"] if each["metric"] not in known]
    missing += [
        {"metric": each.metric, "reason": each.reason}
        for each in known.values()
        if each.value is None
    ]
    values = {name: each.value for name, each in known.items()}
    return {**document, "metrics": {**document["metrics"], **values}, "metricsMissing": missing}
