"""Results of an evaluation: shown with metrics that are decided later, and changed by reviews."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.core.clock import utc_now
from app.core.database.upserts import insert_missing
from app.core.errors import Conflict
from app.core.hooks import hooks_of
from app.core.principal import TeamScope, current_teams
from app.evaluations import service
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult, EvaluationReviewer

# Every member of a results document, as shown before the judge has written one.
_NULLS = (
    *("score", "rawScore", "complianceScore", "coverage", "noVerdictReason", "band", "passed"),
    *("passThreshold", "autoFail", "engine", "dimensions", "sentiment", "resolution", "summary"),
    *("coaching", "quality"),
)
_LISTS = (
    *("sections", "criteria", "metricsMissing", "metricsUncertain", "topics", "moments"),
    "reviews",
)
_EMPTY_RESULTS: dict[str, Any] = {
    **dict.fromkeys(_NULLS),
    **{name: [] for name in _LISTS},
    "maxScore": 100,
    "metrics": {},
}

# Members of the document that are columns, too.
_COLUMNS = {
    "score": "score",
    "raw_score": "rawScore",
    "compliance_score": "complianceScore",
    "passed": "passed",
    "band": "band",
}

_UNNAMED = "A reviewer"
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
        document = {**judged_document(result), "reviews": []}
    if document.get("reviews"):
        reviews = unsealed(session, evaluation.id, document["reviews"])
        document = {**document, "reviews": reviews}
        teams = current_teams()
        if teams is not None and teams.released_only:
            document = _for_agent(document, teams)
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


def _for_agent(document: Mapping[str, Any], teams: TeamScope) -> dict[str, Any]:
    """Return results as their agent sees them: without sealed reviews, and without names of others."""
    reviews = [review for review in document["reviews"] if not review.get("sealed")]
    resolution = document["resolution"]
    if teams.hides_reviewers:
        for review in reviews:
            # A changed resolution is explained by the reviewer, whose name comes first.
            explanation = (resolution["explanation"] or "").removeprefix(f"{review['reviewer']}: ")
            resolution = {**resolution, "explanation": explanation}
        reviews = [
            review
            if review["reviewerRef"] == teams.caller_id
            else {**review, "reviewer": _UNNAMED, "reviewerRef": None}
            for review in reviews
        ]
    return {**document, "reviews": reviews, "resolution": resolution}


def find_reviewable(
    session: Session, evaluation_id: str, *, for_update: bool
) -> tuple[Evaluation, EvaluationResult]:
    """Return a finished evaluation and its results, locked until the commit if `for_update`."""
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
    for column, member in _COLUMNS.items():
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
        review: in the shape of `schemas.results.ReviewSchema`.
        reviewer: by whom the filter `reviewed_by` then finds the evaluation.
    """
    if reviewer is not None:
        insert_missing(session, EvaluationReviewer, reviewer=reviewer, evaluation_id=evaluation.id)
    result.document = {**result.document, "reviews": [*result.document["reviews"], review]}
    evaluation.review_status = status
    evaluation.updated_at = utc_now()
    session.flush()
    service.notify_changed(session, [evaluation], {evaluation.id: result.document})


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
