"""Endpoints of usage. Each answer includes all earlier calls."""

from typing import Any

from app.core.clock import utc_now
from app.usage import meter, reports, schemas
from app.usage.plan import UsageMetric, period_of, plan_of
from app.web.api import BARE, Blueprint
from app.web.current import current_runtime

blp = Blueprint(
    "usage", __name__, url_prefix="/usage", description="Metered usage", scope="usage:read"
)


@blp.get("/summary")
@blp.arguments(schemas.BillingPeriodQuery, location="query")
@blp.response(200, schemas.UsageSummarySchema, shape=BARE)
def get_usage_summary(query: dict[str, Any]) -> Any:
    """Show the usage of a billing period, what the plan includes, and the overage."""
    plan = plan_of(current_runtime().settings)
    meter.flush(current_runtime())
    with current_runtime().db.reading() as session:
        return reports.summary(session, _period(query), plan)


@blp.get("/details")
@blp.arguments(schemas.UsageDetailsQuery, location="query")
@blp.response(200, schemas.UsageRecordSchema(many=True))
def list_usage_details(query: dict[str, Any]) -> Any:
    """List the usage of a billing period by day, key and operation, newest day first."""
    metric = UsageMetric(query["type"]) if "type" in query else None
    meter.flush(current_runtime())
    with current_runtime().db.reading() as session:
        return reports.list_details(
            session,
            _period(query),
            query["page_request"],
            metric=metric,
            key_id=query.get("key_id"),
        )


@blp.get("/by-key")
@blp.arguments(schemas.BillingPeriodQuery, location="query")
@blp.response(200, schemas.UsageByKeySchema, shape=BARE)
def get_usage_by_key(query: dict[str, Any]) -> Any:
    """Show the calls of every API key in a billing period."""
    period = _period(query)
    meter.flush(current_runtime())
    with current_runtime().db.reading() as session:
        return {"billing_period": period, "keys": reports.by_key(session, period)}


def _period(query: dict[str, Any]) -> str:
    return str(query.get("billing_period") or period_of(utc_now()))
