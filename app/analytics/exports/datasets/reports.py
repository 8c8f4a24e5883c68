"""Datasets of reports, computed at once: the leaderboards, a daily trend, and usage."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.engine.reader import FactReader
from app.analytics.engine.selection import Selection, period_of
from app.analytics.enums import Dataset, Granularity, GroupBy, TrendMetric
from app.analytics.exports.datasets.columns import Column, Kind, Row, columns, time_formatter
from app.analytics.exports.request import ExportRequest
from app.analytics.reports import leaderboards, trends
from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.core.hooks import hooks_of
from app.usage.models import MeteredKey, UsageRecord
from app.usage.plan import UNITS, UsageMetric, in_unit

_MEMBER: Mapping[str, Kind] = {
    "id": "text",
    "name": "text",
    "evaluations": "integer",
    "without_verdict": "integer",
    "rank": "integer",
    "rank_eligible": "boolean",
    "adjusted_score": "number",
    "mean_score": "number",
    "median_score": "number",
    "p10": "number",
    "p90": "number",
    "pass_rate": "number",
    "auto_fail_rate": "number",
    "compliance_mean": "number",
    "mean_customer_sentiment": "number",
    "declining_rate": "number",
    "resolution_rate": "number",
    "mean_duration_seconds": "number",
    "talk_ratio": "number",
    "silence_percent": "number",
    "interruptions_per_call": "number",
    "first_response_seconds_median": "number",
    "last_evaluation_at": "text",
}
LEADERBOARD_COLUMNS = columns(_MEMBER)
EXECUTIVE_COLUMNS = columns(
    {
        **_MEMBER,
        "kind": "text",
        "call_center_id": "text",
        "call_center": "text",
        "reviewed_count": "integer",
    }
)
_RATES = [metric for metric in TrendMetric if metric is not TrendMetric.EVALUATIONS]
TREND_COLUMNS = (
    *columns({"period_start": "text", "period_end": "text", "evaluations": "integer"}),
    *(Column(metric.name.lower(), "number") for metric in _RATES),
)
USAGE_COLUMNS = columns(
    {
        "id": "text",
        "date": "text",
        "type": "text",
        "key_id": "text",
        "key_name": "text",
        "operation": "text",
        "quantity": "number",
        "unit": "text",
    }
)
COACHING_SESSION_COLUMNS = columns(
    {
        "session_id": "key",
        "at": "time",
        "executive_id": "key",
        "executive": "text",
        "call_center_id": "key",
        "coach": "text",
        "state": "key",
        "scorecard_id": "key",
        "criteria": "list",
        "evaluation_ids": "list",
        "evidence_quotes": "list",
        "steps": "text",
        "due": "time",
    }
)
_MIN_EVALUATIONS = 5
_ALL_ROWS = PageRequest(1, 1_000_000, "rank")
_LEADERBOARDS = {
    Dataset.EXECUTIVES: leaderboards.executives,
    Dataset.CAMPAIGNS: leaderboards.campaigns,
    Dataset.CALL_CENTERS: leaderboards.call_centers,
}


def report_selection(request: ExportRequest) -> Selection:
    """Return the selection of a request; an open period ends now."""
    period = period_of(request.start, request.end, request.zone, now=utc_now(), location="json")
    filters: dict[str, Any] = {**request.filters}
    return Selection(period, **{**filters, "channel": tuple(filters.get("channel", ()))})


def leaderboard_rows(facts: FactReader, request: ExportRequest) -> list[Row]:
    selection, format_time = report_selection(request), time_formatter(request.zone)
    is_executive = request.dataset is Dataset.EXECUTIVES
    columns = EXECUTIVE_COLUMNS if is_executive else LEADERBOARD_COLUMNS
    page = _LEADERBOARDS[request.dataset](
        facts, selection, _ALL_ROWS, min_evaluations=_MIN_EVALUATIONS, compare=False
    )
    leaderboard: list[Row] = []
    for member in page.items:
        values = {**member, "last_evaluation_at": format_time(member["last_evaluation_at"])}
        leaderboard.append([values[column.name] for column in columns])
    return leaderboard


def trend_rows(facts: FactReader, request: ExportRequest) -> list[Row]:
    selection, format_time = report_selection(request), time_formatter(request.zone)
    series = [
        trends.show(
            facts,
            selection,
            metric=metric,
            granularity=Granularity.DAY,
            group_by=GroupBy.NONE,
            limit=1,
        )["series"][0]["points"]
        for metric in (TrendMetric.EVALUATIONS, *_RATES)
    ]
    return [
        [
            format_time(points[0]["period_start"]),
            format_time(points[0]["period_end"]),
            *(point["value"] for point in points),
        ]
        for points in zip(*series, strict=True)
    ]


def usage_rows(session: Session, request: ExportRequest) -> list[Row]:
    """Return the records of the days, in UTC, of the period, the oldest first."""
    statement = (
        select(UsageRecord, MeteredKey.name)
        .outerjoin(MeteredKey, MeteredKey.key_id == UsageRecord.key_id)
        .where(UsageRecord.quantity > 0)
        .order_by(UsageRecord.date, UsageRecord.id)
    )
    if request.start is not None:
        statement = statement.where(UsageRecord.date >= request.start.date().isoformat())
    if request.end is not None:
        statement = statement.where(UsageRecord.date < request.end.isoformat())
    return [_usage_row(record, name) for record, name in session.execute(statement)]


def coaching_session_rows(session: Session, request: ExportRequest) -> list[Row]:
    """Return the coaching sessions whose date is in the period, the oldest first."""
    format_time = time_formatter(request.zone)
    rows = hooks_of(session).coaching_sessions(
        session, start=request.start, end=request.end, **request.filters
    )
    return [
        (
            row["id"],
            format_time(row["at"]),
            row["executive_id"],
            row["executive"],
            row["call_center_id"],
            row["coach"],
            row["state"],
            row["scorecard_id"],
            row["criteria"],
            [item["evaluation_id"] for item in row["evidence"]],
            [item["quote"] for item in row["evidence"] if item["quote"]]
            if request.include_text
            else None,
            row["steps"],
            format_time(row["due"]),
        )
        for row in rows
    ]


def _usage_row(record: UsageRecord, name: str | None) -> Sequence[str | float | None]:
    metric = UsageMetric(record.type)
    return (
        record.id,
        record.date,
        metric.value,
        record.key_id or None,
        name,
        record.operation,
        in_unit(metric, record.quantity),
        UNITS[metric],
    )
