"""Endpoints of imports, beyond the specification."""

from typing import Any

from app.campaigns.schemas import CampaignSchema
from app.core.runtime import runtime
from app.directory import call_centers, executives
from app.directory.schemas import CallCenterSchema, ExecutiveSchema
from app.imports import campaign_shapes, campaigns, directory_shapes
from app.imports.external_ids import PATH_PARAMETER, agreed
from app.web.api import Blueprint
from app.web.principal import require_scope

blp = Blueprint(
    "imports",
    __name__,
    url_prefix="/imports",
    description="Extension: the way in for what other systems know",
)
_UPSERT: dict[str, Any] = {"parameters": [PATH_PARAMETER], "tags": ["imports", "extension"]}


@blp.put("/campaigns/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(campaign_shapes.CampaignUpsert)
@blp.response(200, CampaignSchema)
def put_campaign(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the campaign that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with runtime().db.writing() as session:
        campaign, created = campaigns.put(session, external_id, body)
    return campaign, 201 if created else 200


@blp.put("/call-centers/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(directory_shapes.CallCenterUpsert)
@blp.response(200, CallCenterSchema)
def put_call_center(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the call centre that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with runtime().db.writing() as session:
        call_center, created = call_centers.upsert(session, external_id, body)
    return call_center, 201 if created else 200


@blp.put("/executives/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(directory_shapes.ExecutiveUpsert)
@blp.response(200, ExecutiveSchema)
def put_executive(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the executive that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with runtime().db.writing() as session:
        executive, created = executives.upsert(session, external_id, body)
    return executive, 201 if created else 200
