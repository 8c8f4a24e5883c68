"""Endpoints of calibration profiles."""

from typing import Any

from app.calibration import schemas, service
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = Blueprint(
    "calibration_profiles",
    __name__,
    url_prefix="/calibration-profiles",
    description="Extension: how scores are calibrated to those of people",
)


@blp.get("")
@require_scope("evaluations:review")
@blp.arguments(schemas.CalibrationProfileQuery, location="query")
@blp.response(200, schemas.CalibrationProfileSchema(many=True))
def list_calibration_profiles(query: dict[str, Any]) -> Any:
    """List the calibration profiles, every version of every engagement."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, request, **query)


@blp.get("/<id:profile_id>")
@require_scope("evaluations:review")
@blp.response(200, schemas.CalibrationProfileSchema)
def get_calibration_profile(profile_id: str) -> Any:
    """Show one calibration profile with its cross-validated gain."""
    with current_runtime().db.reading() as session:
        return service.show(session, profile_id)
