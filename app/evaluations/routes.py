"""Endpoints of evaluations."""

from typing import Any

from app.evaluations import listing, results, service, shown_transcripts
from app.evaluations import trials as trial_service
from app.evaluations.judging import bulk, judgements
from app.evaluations.schemas import evaluations, re_evaluations, trials
from app.evaluations.schemas.results import ResultsSchema
from app.evaluations.schemas.transcripts import TranscriptQuery, TranscriptSchema
from app.scorecards.authoring import complete_document
from app.web.addresses import public_address
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, check_raw, check_scope, require_scope

blp = Blueprint(
    "evaluations", __name__, description="Judgements of conversations, recordings and calls"
)


@blp.get("/evaluations")
@require_scope("evaluations:read")
@blp.arguments(evaluations.EvaluationQuery, location="query")
@blp.response(200, evaluations.EvaluationSchema(many=True))
def list_evaluations(query: dict[str, Any]) -> Any:
    """List the evaluations, the current revision of each source."""
    request = query.pop("page_request")
    with current_runtime().db.reading_rows() as session:
        return listing.list_page(session, request, **query)


@blp.get("/evaluations/<id:evaluation_id>")
@require_scope("evaluations:read")
@blp.response(200, evaluations.EvaluationDetailSchema)
def get_evaluation(evaluation_id: str) -> Any:
    """Show one evaluation."""
    with current_runtime().db.reading() as session:
        return service.get(session, evaluation_id)


@blp.get("/evaluations/<id:evaluation_id>/transcript")
@require_scope("evaluations:read")
@blp.arguments(TranscriptQuery, location="query")
@blp.response(200, TranscriptSchema)
def get_evaluation_transcript(query: dict[str, bool], evaluation_id: str) -> Any:
    """Show the transcript of an evaluation; a pending one has no segments."""
    check_raw(evaluation_id, redacted=query["redacted"])
    with current_runtime().db.reading() as session:
        evaluation = service.find(session, evaluation_id)
        return shown_transcripts.of_evaluation(
            session, current_runtime().keyring, evaluation, **query
        )


@blp.get("/evaluations/<id:evaluation_id>/results")
@require_scope("evaluations:read")
@blp.arguments(evaluations.ResultsQuery, location="query")
@blp.response(200, ResultsSchema)
def get_evaluation_results(query: dict[str, bool], evaluation_id: str) -> Any:
    """Show the results with their evidence; nulls and empty lists until it is completed."""
    with current_runtime().db.reading() as session:
        return results.results_of(session, service.find(session, evaluation_id), **query)


@blp.post("/evaluations/<id:evaluation_id>/re-evaluate")
@require_scope("evaluations:review")
@blp.arguments(re_evaluations.ReEvaluateBody)
@blp.response(202, re_evaluations.ReEvaluationAcceptedSchema)
def re_evaluate(body: dict[str, Any], evaluation_id: str) -> Any:
    """Evaluate the same transcript again as the next revision; the old one stays until then."""
    with current_runtime().db.writing() as session:
        evaluation = judgements.request_again(session, evaluation_id, **body)
        status_url = _url(f"/evaluations/{evaluation.id}")
        return {**service.get(session, evaluation.id), "status_url": status_url}


@blp.post("/re-evaluations")
@require_scope("evaluations:review", policy=EXPENSIVE)
@blp.arguments(re_evaluations.ReEvaluateMany)
@blp.response(202, re_evaluations.ReEvaluationManyAcceptedSchema)
def re_evaluate_many(body: dict[str, Any]) -> Any:
    """Evaluate many again when no other evaluation is due; with `dryRun` only count them."""
    dry_run = body.pop("dry_run")
    with current_runtime().db.reading() as session:
        count = bulk.count(session, **body)
    if dry_run:
        return {"count": count, "dry_run": True, "id": None, "status": None, "status_url": None}
    with current_runtime().db.writing() as session:
        started = bulk.start(session, selected=count, **body)
    url = _url(f"/re-evaluations/{started['id']}")
    return {**started, "dry_run": False, "status_url": url}


@blp.get("/re-evaluations/<id:re_evaluation_id>")
@require_scope("evaluations:review")
@blp.response(200, re_evaluations.ReEvaluationSchema)
def get_re_evaluation(re_evaluation_id: str) -> Any:
    """Show the progress of a bulk re-evaluation."""
    with current_runtime().db.reading() as session:
        return bulk.show(session, re_evaluation_id)


@blp.post("/re-evaluations/<id:re_evaluation_id>/retry")
@require_scope("evaluations:review", policy=EXPENSIVE)
@blp.response(202, re_evaluations.ReEvaluationSchema)
@blp.alt_response(409, description="It has not failed, or too many re-evaluations wait.")
def retry_re_evaluation(re_evaluation_id: str) -> Any:
    """Try a failed bulk re-evaluation again, with the evaluations that it has not opened yet."""
    with current_runtime().db.writing() as session:
        return bulk.retry(session, re_evaluation_id)


@blp.post("/scorecard-trials")
@require_scope("scorecards:manage", policy=EXPENSIVE)
@blp.arguments(trials.ScorecardTrialCreate)
@blp.response(202, trials.ScorecardTrialSchema)
def try_scorecard(body: dict[str, Any]) -> Any:
    """Try a scorecard on up to 200 past conversations of its channel; needs evaluations:read, too."""
    check_scope("evaluations:read")
    document = complete_document(body.pop("scorecard"), where="scorecard")
    with current_runtime().db.writing() as session:
        return trial_service.request(session, document, **body)


@blp.get("/scorecard-trials/<id:trial_id>")
@require_scope("scorecards:manage")
@blp.response(200, trials.ScorecardTrialSchema)
def get_scorecard_trial(trial_id: str) -> Any:
    """Show a trial and, once it is completed, its result; needs evaluations:read, too."""
    check_scope("evaluations:read")
    with current_runtime().db.reading() as session:
        return trial_service.show(session, trial_id)


def _url(path: str) -> str:
    return f"{public_address(current_runtime().settings)}/api/v1{path}"
