"""Endpoints of campaigns."""

from typing import Any

from app.campaigns import schemas, service
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = Blueprint(
    "campaigns", __name__, url_prefix="/campaigns", description="Groups of contacts with targets"
)


@blp.get("")
@require_scope("campaigns:read")
@blp.arguments(schemas.CampaignQuery, location="query")
@blp.response(200, schemas.CampaignSchema(many=True))
def list_campaigns(query: dict[str, Any]) -> Any:
    """List the campaigns."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, request, **query)


@blp.get("/<id:campaign_id>")
@require_scope("campaigns:read")
@blp.response(200, schemas.CampaignSchema)
def get_campaign(campaign_id: str) -> Any:
    """Show one campaign."""
    with current_runtime().db.reading_once() as session:
        return service.get(session, campaign_id)
