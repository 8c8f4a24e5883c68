"""Endpoints of scorecards, beyond the specification."""

from typing import Any

from app.core.runtime import runtime
from app.scorecards import schemas, service
from app.web.api import Blueprint
from app.web.principal import require_scope

blp = Blueprint(
    "scorecards",
    __name__,
    url_prefix="/scorecards",
    description="Extension: what is asked of a conversation",
)


@blp.get("")
@require_scope("scorecards:manage")
@blp.arguments(schemas.ScorecardQuery, location="query")
@blp.response(200, schemas.ScorecardSchema(many=True))
def list_scorecards(query: dict[str, Any]) -> Any:
    """List the scorecards: those that ship, and your own."""
    request = query.pop("page_request")
    with runtime().db.reading() as session:
        return service.list_page(session, request, **query)


@blp.get("/<id:scorecard_id>")
@require_scope("scorecards:manage")
@blp.response(200, schemas.ScorecardDetailSchema)
def get_scorecard(scorecard_id: str) -> Any:
    """Show one scorecard with its definition."""
    with runtime().db.reading() as session:
        return service.get(session, scorecard_id)
