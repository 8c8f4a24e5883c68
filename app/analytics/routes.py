"""Endpoints of analytics."""

from collections.abc import Callable
from typing import Any

from app.analytics.engine.reader import open_facts
from app.analytics.engine.selection import Selection, selection_of
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.exports import downloads, service
from app.analytics.exports.downloads import ExportLinks
from app.analytics.exports.request import request_from_body, request_of, required_scopes
from app.analytics.reports import leaderboards, summary, trends
from app.analytics.schemas.exports import (
    ExportAcceptedSchema,
    ExportCreate,
    ExportQuery,
    ExportSchema,
)
from app.analytics.schemas.reports import (
    AnalyticsExecutiveSchema,
    AnalyticsMemberSchema,
    AnalyticsQuery,
    AnalyticsSummarySchema,
    AnalyticsTrendSchema,
    LeaderboardQuery,
    TrendQuery,
)
from app.core.clock import utc_now
from app.core.database.paging import Page
from app.web.addresses import public_address
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, check_scope, current_principal, require_scope

blp = Blueprint(
    "analytics", __name__, url_prefix="/analytics", description="Reports over evaluations"
)


@blp.get("/summary")
@require_scope("analytics:read")
@blp.arguments(AnalyticsQuery, location="query")
@blp.response(200, AnalyticsSummarySchema)
def get_analytics_summary(query: dict[str, Any]) -> Any:
    """Summarize a period: scores, sentiment, resolution, topics and the weakest criteria."""
    selection, options = _selection(query), _ranking_options(query)
    with open_facts(current_runtime()) as facts:
        return summary.summarize(facts, selection, **options)


@blp.get("/campaigns")
@require_scope("analytics:read")
@blp.arguments(LeaderboardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_campaign_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the campaigns."""
    return _leaderboard(query, leaderboards.campaigns)


@blp.get("/call-centers")
@require_scope("analytics:read")
@blp.arguments(LeaderboardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_call_center_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the call centres."""
    return _leaderboard(query, leaderboards.call_centers)


@blp.get("/executives")
@require_scope("analytics:read")
@blp.arguments(LeaderboardQuery, location="query")
@blp.response(200, AnalyticsExecutiveSchema(many=True))
def list_executive_analytics(query: dict[str, Any]) -> Any:
    """Compare the executives, and rank people and bots separately."""
    return _leaderboard(query, leaderboards.executives)


@blp.get("/trends")
@require_scope("analytics:read")
@blp.arguments(TrendQuery, location="query")
@blp.response(200, AnalyticsTrendSchema)
def get_analytics_trends(query: dict[str, Any]) -> Any:
    """Show one metric over time, in total or by group."""
    selection = _selection(query)
    with open_facts(current_runtime()) as facts:
        return trends.show(
            facts,
            selection,
            metric=TrendMetric(query["metric"]),
            granularity=Granularity(query["granularity"]),
            group_by=GroupBy(query["group_by"]),
            limit=query["limit"],
        )


@blp.post("/export")
@require_scope("analytics:export", policy=EXPENSIVE)
@blp.arguments(ExportCreate)
@blp.response(202, ExportAcceptedSchema)
def create_export(body: dict[str, Any]) -> Any:
    """Queue an export; its file can be downloaded for a day once it is ready."""
    links, request = _links(), request_from_body(body)
    check_scope(*required_scopes(request))
    created_by = current_principal().key_id
    runtime = current_runtime()
    runtime.storage.require_space(0)
    with runtime.db.reading() as session:
        service.require_fits_sheet(session, request)
    with runtime.db.writing() as session:
        job = service.create(
            session, request, file_name=body.get("file_name"), created_by=created_by
        )
    return {
        "job_id": job.id,
        "status": job.state,
        "created_at": job.queued_at,
        "status_url": links.status(job.id),
    }


@blp.get("/exports", tags=["analytics", "extension"])
@require_scope("analytics:export")
@blp.arguments(ExportQuery, location="query")
@blp.response(200, ExportSchema(many=True))
def list_exports(query: dict[str, Any]) -> Any:
    """List the exports whose rows the key may read, each with a signed link once it is ready."""
    page_request, links = query.pop("page_request"), _links()
    scopes = current_principal().scopes
    with current_runtime().db.reading() as session:
        page = service.list_page(session, page_request, scopes=scopes, **query)
        items = [downloads.show(job, links) for job in page.items]
    return Page(items, page.page, page.page_size, page.total_count)


@blp.get("/export/<id:job_id>")
@require_scope("analytics:export")
@blp.response(200, ExportSchema)
def get_export(job_id: str) -> Any:
    """Show the progress of an export, and a signed link to its file once it is ready."""
    with current_runtime().db.reading() as session:
        job = service.find(session, job_id)
        check_scope(*required_scopes(request_of(job)))
        return downloads.show(job, _links())


@blp.delete("/export/<id:job_id>", tags=["analytics", "extension"])
@require_scope("analytics:export")
@blp.response(204)
def cancel_export(job_id: str) -> None:
    """Cancel an export that is queued or running, or delete the file of one that is ready."""
    with current_runtime().db.writing() as session:
        service.cancel(session, job_id)


def _selection(query: dict[str, Any]) -> Selection:
    return selection_of(query, now=utc_now())


def _leaderboard(query: dict[str, Any], leaderboard: Callable[..., Page[Any]]) -> Page[Any]:
    selection, options = _selection(query), _ranking_options(query)
    with open_facts(current_runtime()) as facts:
        return leaderboard(facts, selection, query["page_request"], **options)


def _ranking_options(query: dict[str, Any]) -> dict[str, Any]:
    compare = query["compare"] == "previous_period"
    return {"min_evaluations": query["min_evaluations"], "compare": compare}


def _links() -> ExportLinks:
    runtime = current_runtime()
    signer = runtime.urls.for_holder(current_principal().key_id)
    return ExportLinks(signer, public_address(runtime.settings), runtime.settings.url_ttl_s)
