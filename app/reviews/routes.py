"""Endpoints of reviews."""

from typing import Any

from app.evaluations.schemas.results import ReviewSchema
from app.reviews import schemas, service
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = Blueprint(
    "reviews",
    __name__,
    url_prefix="/evaluations",
    description="Extension: reviews of evaluations by people",
)


@blp.post("/<id:evaluation_id>/reviews")
@require_scope("evaluations:review")
@blp.arguments(schemas.ReviewCreate)
@blp.response(201, ReviewSchema)
def create_review(body: dict[str, Any], evaluation_id: str) -> Any:
    """Review an evaluation: confirm, override, dispute, decide a dispute, or comment."""
    created_by = current_principal().key_id
    with current_runtime().db.writing() as session:
        return service.add(session, evaluation_id, body, created_by=created_by)


@blp.post("/<id:evaluation_id>/reviews/preview")
@require_scope("evaluations:review")
@blp.arguments(schemas.ReviewPreviewBody)
@blp.response(200, schemas.ReviewPreviewSchema)
def preview_review(body: dict[str, Any], evaluation_id: str) -> Any:
    """Show the score that other answers would give; nothing is stored."""
    with current_runtime().db.reading() as session:
        return service.preview(session, evaluation_id, body["criteria"])


@blp.get("/<id:evaluation_id>/reviews")
@require_scope("evaluations:review")
@blp.arguments(schemas.ReviewQuery, location="query")
@blp.response(200, ReviewSchema(many=True))
def list_reviews(query: dict[str, Any], evaluation_id: str) -> Any:
    """List the reviews of one revision of an evaluation."""
    with current_runtime().db.reading() as session:
        return service.list_page(session, evaluation_id, query["page_request"])
