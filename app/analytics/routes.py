"""Endpoints of analytics."""

from typing import Any

from app.analytics import (
    agreement,
    export_records,
    export_shapes,
    exporting,
    schemas,
)
from app.analytics.agreement_shapes import AgreementQuery, AnalyticsAgreementSchema
from app.analytics.board_shapes import AnalyticsExecutiveSchema, AnalyticsMemberSchema
from app.analytics.engine.periods import Granularity, moment_of
from app.analytics.engine.questions import Question, question_of
from app.analytics.engine.reader import open_facts
from app.analytics.export_records import Links
from app.analytics.query_shapes import AnalyticsQuery
from app.analytics.reports import leaderboards, summary, trends
from app.analytics.wishes import Dataset, Format, Wish, scopes_of
from app.core.clock import utc_now
from app.core.errors import InvalidInput
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, check_scope, current_principal, require_scope
from app.web.public_address import public_address

blp = Blueprint(
    "analytics", __name__, url_prefix="/analytics", description="Figures over evaluations"
)


@blp.get("/summary")
@require_scope("analytics:read")
@blp.arguments(AnalyticsQuery, location="query")
@blp.response(200, schemas.AnalyticsSummarySchema)
def get_analytics_summary(query: dict[str, Any]) -> Any:
    """Summarize a period: scores, sentiment, resolution, topics and the weakest criteria."""
    question, how = _question(query), _how(query)
    with open_facts(current_runtime()) as facts:
        return summary.summarize(facts, question, **how)


@blp.get("/campaigns")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_campaign_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the campaigns."""
    question, how = _question(query), _how(query)
    with open_facts(current_runtime()) as facts:
        return leaderboards.campaigns(facts, question, query["page_request"], **how)


@blp.get("/call-centers")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_call_center_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the call centres."""
    question, how = _question(query), _how(query)
    with open_facts(current_runtime()) as facts:
        return leaderboards.call_centers(facts, question, query["page_request"], **how)


@blp.get("/executives")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsExecutiveSchema(many=True))
def list_executive_analytics(query: dict[str, Any]) -> Any:
    """Compare the executives, and rank people and bots, each among themselves."""
    question, how = _question(query), _how(query)
    with open_facts(current_runtime()) as facts:
        return leaderboards.executives(facts, question, query["page_request"], **how)


@blp.get("/trends")
@require_scope("analytics:read")
@blp.arguments(schemas.TrendQuery, location="query")
@blp.response(200, schemas.AnalyticsTrendSchema)
def get_analytics_trends(query: dict[str, Any]) -> Any:
    """Show the course of one metric, of everything or group by group."""
    question = _question(query)
    with open_facts(current_runtime()) as facts:
        return trends.show(
            facts,
            question,
            metric=trends.Metric(query["metric"]),
            granularity=Granularity(query["granularity"]),
            group_by=trends.GroupBy(query["group_by"]),
            limit=query["limit"],
        )


@blp.get("/agreement")
@require_scope("evaluations:review")
@blp.arguments(AgreementQuery, location="query")
@blp.response(200, AnalyticsAgreementSchema)
def get_analytics_agreement(query: dict[str, Any]) -> Any:
    """Show how well the engine agrees with people's reviews, and people with each other."""
    question = _question(query)
    with current_runtime().db.reading() as session:
        return agreement.show(session, question)


@blp.post("/export")
@require_scope("analytics:export", policy=EXPENSIVE)
@blp.arguments(export_shapes.ExportCreate)
@blp.response(202, export_shapes.ExportAcceptedSchema)
def create_export(body: dict[str, Any]) -> Any:
    """Queue an export; its file can be downloaded for a day once it is ready."""
    links, wish = _links(), _wish(body)
    _check_scopes(wish)
    created_by = current_principal().key_id
    runtime = current_runtime()
    runtime.storage.require_space(0)
    with runtime.db.reading() as session:
        exporting.require_room(session, wish)
    with runtime.db.writing() as session:
        job = exporting.request(
            session, wish, file_name=body.get("file_name"), created_by=created_by
        )
    return {
        "job_id": job.id,
        "status": job.state,
        "created_at": job.queued_at,
        "status_url": links.status(job.id),
    }


@blp.get("/export/<id:job_id>")
@require_scope("analytics:export")
@blp.response(200, export_shapes.ExportSchema)
def get_export(job_id: str) -> Any:
    """Show how far an export is; when it is ready, with a signed link to its file."""
    with current_runtime().db.reading() as session:
        _check_scopes(exporting.wish_of(export_records.found(session, job_id)))
        return export_records.show(session, job_id, _links())


@blp.delete("/export/<id:job_id>", tags=["analytics", "extension"])
@require_scope("analytics:export")
@blp.response(204)
def cancel_export(job_id: str) -> None:
    """End an export that waits or runs; one that is ready is withdrawn with its file."""
    with current_runtime().db.writing() as session:
        exporting.cancel(session, job_id)


def _check_scopes(wish: Wish) -> None:
    for scope in scopes_of(wish):
        check_scope(scope)


def _question(query: dict[str, Any]) -> Question:
    return question_of(query, now=utc_now())


def _how(query: dict[str, Any]) -> dict[str, Any]:
    compare = query["compare"] == "previous_period"
    return {"min_evaluations": query["min_evaluations"], "compare": compare}


def _wish(body: dict[str, Any]) -> Wish:
    zone = body["timezone"]
    start, end = (
        moment_of(body[each], zone) if each in body else None for each in ("start", "end")
    )
    if start is not None and end is not None and start >= end:
        raise InvalidInput.field("to", "to must be later than from.", code="RANGE")
    return Wish(
        dataset=Dataset(body["dataset"]),
        format=Format(body["format"]),
        start=start,
        end=end,
        zone=zone,
        filters=body["filters"],
        columns=tuple(body.get("columns", ())),
        delimiter=body["delimiter"],
        include_text=body["include_text"],
    )


def _links() -> Links:
    runtime = current_runtime()
    return Links(runtime.urls, public_address(runtime.settings), runtime.settings.url_ttl_s)
