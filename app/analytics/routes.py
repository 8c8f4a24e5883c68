"""Endpoints of analytics."""

from typing import Any

from app.analytics import boards, schemas, summary, trends
from app.analytics.board_shapes import AnalyticsExecutiveSchema, AnalyticsMemberSchema
from app.analytics.periods import Granularity, period_of
from app.analytics.query_shapes import AnalyticsQuery
from app.analytics.reading import Question
from app.core.clock import utc_now
from app.core.runtime import runtime
from app.web.api import Blueprint
from app.web.principal import require_scope

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
    with runtime().db.reading() as session:
        return summary.summarize(session, question, **how)


@blp.get("/campaigns")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_campaign_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the campaigns."""
    question, how = _question(query), _how(query)
    with runtime().db.reading() as session:
        return boards.campaigns(session, question, query["page_request"], **how)


@blp.get("/call-centers")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsMemberSchema(many=True))
def list_call_center_analytics(query: dict[str, Any]) -> Any:
    """Compare and rank the call centres."""
    question, how = _question(query), _how(query)
    with runtime().db.reading() as session:
        return boards.call_centers(session, question, query["page_request"], **how)


@blp.get("/executives")
@require_scope("analytics:read")
@blp.arguments(schemas.BoardQuery, location="query")
@blp.response(200, AnalyticsExecutiveSchema(many=True))
def list_executive_analytics(query: dict[str, Any]) -> Any:
    """Compare the executives, and rank people and bots, each among themselves."""
    question, how = _question(query), _how(query)
    with runtime().db.reading() as session:
        return boards.executives(session, question, query["page_request"], **how)


@blp.get("/trends")
@require_scope("analytics:read")
@blp.arguments(schemas.TrendQuery, location="query")
@blp.response(200, schemas.AnalyticsTrendSchema)
def get_analytics_trends(query: dict[str, Any]) -> Any:
    """Show the course of one metric, of everything or group by group."""
    question = _question(query)
    with runtime().db.reading() as session:
        return trends.show(
            session,
            question,
            metric=trends.Metric(query["metric"]),
            granularity=Granularity(query["granularity"]),
            group_by=trends.GroupBy(query["group_by"]),
            limit=query["limit"],
        )


def _question(query: dict[str, Any]) -> Question:
    period = period_of(query.get("start"), query.get("end"), query["timezone"], now=utc_now())
    names = ("engagement_id", "campaign_id", "call_center_id", "executive_id", "scorecard_id")
    ids = {name: query.get(name) for name in names}
    return Question(period, **ids, channel=tuple(query.get("channel", ())))


def _how(query: dict[str, Any]) -> dict[str, Any]:
    compare = query["compare"] == "previous_period"
    return {"min_evaluations": query["min_evaluations"], "compare": compare}
