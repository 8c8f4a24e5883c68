"""Endpoints of receipts and disputes."""

from typing import Any

from app.agents import disputes, receipts, schemas
from app.analytics.engine.selection import selection_of
from app.core.clock import utc_now
from app.core.database.paging import cut_page
from app.evaluations.schemas.results import ReviewSchema
from app.reviews.schemas.agreement import AgreementQuery
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope
from app.web.schemas.query_fields import PageQuery

blp = Blueprint(
    "agents", __name__, description="Extension: what agents answer to their evaluations"
)


@blp.get("/evaluations/<id:evaluation_id>/receipts")
@require_scope("evaluations:read")
@blp.arguments(PageQuery, location="query")
@blp.response(200, schemas.ReceiptSchema(many=True))
def list_receipts(query: dict[str, Any], evaluation_id: str) -> Any:
    """List when a revision was seen and acknowledged by its agent, and their comments."""
    with current_runtime().db.reading() as session:
        return cut_page(receipts.list_of(session, evaluation_id), query["page_request"])


@blp.post("/evaluations/<id:evaluation_id>/receipts")
@require_scope("evaluations:respond")
@blp.arguments(schemas.ReceiptCreate)
@blp.response(201, schemas.ReceiptSchema)
def create_receipt(body: dict[str, Any], evaluation_id: str) -> Any:
    """Note for an agent that they have seen, acknowledged or commented on an evaluation."""
    user_id = current_principal().key_id
    with current_runtime().db.writing() as session:
        return receipts.add(session, evaluation_id, **body, user_id=user_id)


@blp.post("/evaluations/<id:evaluation_id>/disputes")
@require_scope("evaluations:respond")
@blp.arguments(schemas.DisputeCreate)
@blp.response(201, ReviewSchema)
def create_dispute(body: dict[str, Any], evaluation_id: str) -> Any:
    """Dispute answers for the agent of an evaluation; the dispute is a review of it."""
    runtime, principal = current_runtime(), current_principal()
    with runtime.db.writing() as session:
        return disputes.open_dispute(
            session,
            evaluation_id,
            body,
            name=principal.name,
            ref=principal.key_id,
            days=runtime.settings.dispute_days,
        )


@blp.get("/analytics/disputes", tags=["analytics"])
@require_scope("evaluations:review")
@blp.arguments(AgreementQuery, location="query")
@blp.response(200, schemas.AnalyticsDisputesSchema)
def get_analytics_disputes(query: dict[str, Any]) -> Any:
    """Show how often the judge was disputed, and how often rightly, by criterion."""
    selection = selection_of(query, now=utc_now())
    with current_runtime().db.reading() as session:
        return disputes.figures(session, selection)
