"""Endpoints of evaluations."""

from typing import Any

from app.core.runtime import runtime
from app.evaluations import listing, results, schemas, service, transcripts
from app.evaluations.result_shapes import ResultsSchema
from app.evaluations.transcript_shapes import TranscriptQuery, TranscriptSchema
from app.web.api import Blueprint
from app.web.principal import require_scope

blp = Blueprint(
    "evaluations",
    __name__,
    url_prefix="/evaluations",
    description="Judgements of conversations, recordings and calls",
)


@blp.get("")
@require_scope("evaluations:read")
@blp.arguments(schemas.EvaluationQuery, location="query")
@blp.response(200, schemas.EvaluationSchema(many=True))
def list_evaluations(query: dict[str, Any]) -> Any:
    """List the evaluations, the current revision of each source."""
    request = query.pop("page_request")
    with runtime().db.reading() as session:
        return listing.list_page(session, request, **query)


@blp.get("/<id:evaluation_id>")
@require_scope("evaluations:read")
@blp.response(200, schemas.EvaluationDetailSchema)
def get_evaluation(evaluation_id: str) -> Any:
    """Show one evaluation."""
    with runtime().db.reading() as session:
        return service.get(session, evaluation_id)


@blp.get("/<id:evaluation_id>/transcript")
@require_scope("evaluations:read")
@blp.arguments(TranscriptQuery, location="query")
@blp.response(200, TranscriptSchema)
def get_evaluation_transcript(query: dict[str, bool], evaluation_id: str) -> Any:
    """Show the transcript that an evaluation was judged on; pending ones have no segments."""
    with runtime().db.reading() as session:
        evaluation = service.find(session, evaluation_id)
        return transcripts.of_evaluation(session, evaluation, **query)


@blp.get("/<id:evaluation_id>/results")
@require_scope("evaluations:read")
@blp.arguments(schemas.ResultsQuery, location="query")
@blp.response(200, ResultsSchema)
def get_evaluation_results(query: dict[str, bool], evaluation_id: str) -> Any:
    """Show the judgement with its evidence; nulls and empty lists until it is completed."""
    with runtime().db.reading() as session:
        return results.results_of(session, service.find(session, evaluation_id), **query)
