"""Endpoints of call centres and executives."""

from typing import Any

from app.directory import schemas, service
from app.web.api import Blueprint
from app.web.upserts import put, upsert_of

blp = Blueprint(
    "directory", __name__, description="Call centres and executives", scope="ingest:write"
)


@blp.put("/imports/call-centers/<external_id>", **upsert_of("directory"))
@blp.arguments(schemas.CallCenterUpsert)
@blp.response(200, schemas.CallCenterSchema)
def put_call_center(body: dict[str, Any], external_id: str) -> Any:
    """Create or replace the call centre with this external id."""
    return put(service.upsert_call_center, external_id, body)


@blp.put("/imports/executives/<external_id>", **upsert_of("directory"))
@blp.arguments(schemas.ExecutiveUpsert)
@blp.response(200, schemas.ExecutiveSchema)
def put_executive(body: dict[str, Any], external_id: str) -> Any:
    """Create or replace the executive with this external id."""
    return put(service.upsert_executive, external_id, body, [service.CALL_CENTERS])
