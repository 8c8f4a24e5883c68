"""Dataset `evaluations`: one row for each evaluation."""

from collections.abc import Iterator, Mapping
from typing import Any

from orjson import loads
from sqlalchemy import and_, case, func, select

from app.analytics.engine.facts import METRICS
from app.analytics.exports.datasets.columns import (
    LargeDataset,
    Rows,
    Values,
    as_text,
    booleans,
    by_column,
    columns,
    documents,
    times,
)
from app.analytics.exports.request import ExportRequest
from app.analytics.models import EvaluationFact
from app.evaluations.listing import HAS_VERDICT
from app.evaluations.models import Evaluation, EvaluationResult

_COLUMNS = columns(
    {
        "evaluation_id": "key",
        "revision": "integer",
        "engagement_id": "key",
        "campaign_id": "key",
        "campaign": "text",
        "call_center": "text",
        "executive_id": "key",
        "executive": "text",
        "source_type": "key",
        "source_id": "key",
        "external_id": "text",
        "channel": "key",
        "language": "text",
        "status": "key",
        "review_status": "key",
        "score": "integer",
        "raw_score": "number",
        "compliance_score": "number",
        "judged_weight_percent": "number",
        "has_verdict": "boolean",
        "passed": "boolean",
        "auto_failed": "boolean",
        "failed_criteria": "list",
        "customer_sentiment": "number",
        "sentiment_trend": "key",
        "resolution": "key",
        "topics": "list",
        "duration_seconds": "integer",
        "turn_count": "integer",
        "talk_ratio": "number",
        "silence_percent": "number",
        "interruptions_by_agent": "integer",
        "agent_wpm": "number",
        "first_response_seconds": "number",
        "scorecard_id": "key",
        "scorecard_version": "integer",
        "engine": "text",
        "confidence": "number",
        "started_at": "time",
        "completed_at": "time",
        "band": "key",
        "predicted_satisfaction": "number",
        "summary": "text",
        "conversation_at": "time",
        "created_at": "time",
    }
)
_BATCH_SIZE = 1000
_MEASURES = {
    "talk_ratio": "talk_ratio",
    "silence_percent": "silence_percent",
    "interruptions_by_agent": "interruptions",
    "agent_wpm": "agent_wpm",
    "first_response_seconds": "first_response_seconds",
}
_EVALUATION = Evaluation.__table__.c
_FACTS = EvaluationFact.__table__
_FACT = _FACTS.c
_JSON = ("failed_criteria", "topics", "engine", "summary")
_BOOLEANS = ("has_verdict", "passed", "auto_failed")
_TIMES = ("started_at", "completed_at", "conversation_at", "created_at")


def _columns() -> Iterator[Any]:
    """Yield the selected columns by the names of the dataset, and the metrics of the results."""
    for name in (column.name for column in _COLUMNS):
        if name == "evaluation_id":
            yield _EVALUATION.id.label(name)
        elif name in _JSON:
            yield as_text(_EVALUATION[name]).label(name)
        elif name in _MEASURES:
            yield _FACT[_MEASURES[name]].label(name)
        elif name == HAS_VERDICT.name:
            yield HAS_VERDICT
        else:
            yield _EVALUATION[name]
    # The measures of superseded revisions, which have no fact.
    of_result = select(as_text(EvaluationResult.document["metrics"])).where(
        EvaluationResult.evaluation_id == _EVALUATION.id
    )
    is_superseded = and_(_FACT.id.is_(None), _EVALUATION.status == "completed")
    yield case((is_superseded, of_result.scalar_subquery())).label("metrics")


_STATEMENT = (
    select(*_columns())
    .select_from(Evaluation.__table__)
    .outerjoin(
        _FACTS, (_FACT.source_id == _EVALUATION.source_id) & (_FACT.evaluation_id == _EVALUATION.id)
    )
)
_LEAST_ROWS = select(func.count()).select_from(Evaluation.__table__)
_NAMES = [column.name for column in _STATEMENT.selected_columns]


def _values(rows: Rows, request: ExportRequest) -> list[Values]:
    selected: dict[str, Values] = dict(zip(_NAMES, by_column(rows), strict=True))
    selected |= {name: booleans(selected[name]) for name in _BOOLEANS}
    selected |= {name: documents(selected[name]) for name in ("failed_criteria", "topics")}
    selected["engine"] = documents(selected["engine"], _engine)
    # Overviews have words of the conversation.
    selected["summary"] = (
        documents(selected["summary"], lambda summary: summary and summary["overview"])
        if request.include_text
        else [None] * len(rows)
    )
    selected |= {name: times(selected[name], request.zone) for name in _TIMES}
    selected |= _measures(selected)
    return [selected[column.name] for column in _COLUMNS]


def _measures(selected: Mapping[str, Values]) -> dict[str, list[Any]]:
    """Return the measures of the facts; without a fact, those of the results."""
    measures = {name: list(selected[name]) for name in _MEASURES}
    for place, text in enumerate(selected["metrics"]):
        if text:
            metrics = loads(text)
            for name, measure in _MEASURES.items():
                measures[name][place] = metrics.get(METRICS[measure])
    return measures


def _engine(engine: Mapping[str, Any]) -> str:
    """Return the kind and the model of an engine, such as `embedded:rules-11`."""
    return ":".join(part for part in (engine.get("kind"), engine.get("model")) if part)


DATASET = LargeDataset(_COLUMNS, _STATEMENT, _BATCH_SIZE, _values, _LEAST_ROWS)
