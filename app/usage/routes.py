"""Endpoints of usage."""

from typing import Any

from app.core.clock import utc_now
from app.core.runtime import runtime
from app.usage import meter, schemas, service
from app.usage.periods import period_of
from app.web.api import BARE, Blueprint
from app.web.principal import require_scope

blp = Blueprint("usage", __name__, url_prefix="/usage", description="Metered use")


@blp.get("/by-key")
@require_scope("usage:read")
@blp.arguments(schemas.PeriodQuery, location="query")
@blp.response(200, schemas.UsageByKeySchema, shape=BARE)
def get_usage_by_key(query: dict[str, str]) -> Any:
    """Show the calls of every API key in a billing period, up to this request."""
    period = query.get("billing_period") or period_of(utc_now())
    meter.flush(runtime())
    with runtime().db.reading() as session:
        return {"billing_period": period, "keys": service.usage_by_key(session, period)}
