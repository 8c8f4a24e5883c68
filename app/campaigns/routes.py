"""Endpoints of campaigns."""

from typing import Any

from app.campaigns import merging, schemas, service
from app.core.database.session import after_commit
from app.engagements.service import ENGAGEMENTS
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import require_scope
from app.web.upserts import put, upsert_of

blp = Blueprint("campaigns", __name__, description="Groups of contacts with targets")


@blp.get("/campaigns")
@require_scope("campaigns:read")
@blp.arguments(schemas.CampaignQuery, location="query")
@blp.response(200, schemas.CampaignSchema(many=True))
def list_campaigns(query: dict[str, Any]) -> Any:
    """List the campaigns."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, request, **query)


@blp.get("/campaigns/<id:campaign_id>")
@require_scope("campaigns:read")
@blp.response(200, schemas.CampaignSchema)
def get_campaign(campaign_id: str) -> Any:
    """Show one campaign."""
    with current_runtime().db.reading_once() as session:
        return service.get(session, campaign_id)


@blp.patch("/campaigns/<id:campaign_id>")
@require_scope("scorecards:manage")
@blp.arguments(schemas.CampaignChange)
@blp.response(200, schemas.CampaignSchema)
def change_campaign(changes: dict[str, Any], campaign_id: str) -> Any:
    """Rename a campaign, or change its targets or the scorecards that judge its contacts."""
    with current_runtime().db.writing() as session:
        return service.change(session, campaign_id, changes)


@blp.post("/campaigns/<id:campaign_id>/merge")
@require_scope("scorecards:manage")
@blp.arguments(schemas.CampaignMergeCreate)
@blp.response(200, schemas.CampaignSchema)
def merge_campaigns(body: dict[str, Any], campaign_id: str) -> Any:
    """Merge other campaigns into this one.

    Their conversations, evaluations, figures, review plans, alerts and limits of keys and people
    become those of this campaign, and so does what still comes in under their ids or names. It
    keeps its name and scorecards and gets the targets that only they have. It cannot be undone.
    Conversations, evaluations and figures of large campaigns follow within minutes.
    """
    runtime = current_runtime()
    with runtime.db.writing() as session:
        after_commit(session, runtime.state.new_key_version)
        return merging.merge(session, campaign_id, body["campaign_ids"])


@blp.put("/imports/campaigns/<external_id>", **upsert_of("campaigns"))
@require_scope("ingest:write")
@blp.arguments(schemas.CampaignUpsert)
@blp.response(200, schemas.CampaignSchema)
def put_campaign(body: dict[str, Any], external_id: str) -> Any:
    """Create or replace the campaign with this external id."""
    return put(service.upsert, external_id, body, [ENGAGEMENTS])
