"""Endpoints of engagements."""

from typing import Any

from app.core.database.paging import PageRequest
from app.engagements import schemas, service
from app.web.api import SHAPE_B, Blueprint, if_match
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = Blueprint(
    "engagements", __name__, url_prefix="/engagements", description="Evaluation projects"
)


@blp.get("")
@require_scope("engagements:read")
@blp.arguments(schemas.EngagementQuery, location="query")
@blp.response(200, schemas.EngagementSchema(many=True), shape=SHAPE_B)
def list_engagements(query: dict[str, PageRequest]) -> Any:
    """List the engagements."""
    with current_runtime().db.reading_rows() as session:
        return service.list_page(session, query["page_request"])


@blp.get("/<id:engagement_id>")
@require_scope("engagements:read")
@blp.response(200, schemas.EngagementSchema, etag=True)
def get_engagement(engagement_id: str) -> Any:
    """Show one engagement."""
    with current_runtime().db.reading_once() as session:
        return service.show(session, engagement_id)


@blp.post("")
@require_scope("engagements:write")
@blp.arguments(schemas.EngagementCreate)
@blp.response(201, schemas.EngagementSchema, etag=True)
def create_engagement(body: dict[str, Any]) -> Any:
    """Create an engagement."""
    known_types = current_runtime().settings.engagement_types
    with current_runtime().db.writing() as session:
        return service.create(session, **body, known_types=known_types)


@blp.patch("/<id:engagement_id>")
@require_scope("engagements:write")
@blp.arguments(schemas.EngagementChange)
@blp.response(200, schemas.EngagementSchema, etag=True)
def change_engagement(changes: dict[str, Any], engagement_id: str) -> Any:
    """Change the given fields of an engagement."""
    with current_runtime().db.writing() as session:
        return service.change(session, engagement_id, changes, if_match=if_match())
