"""The dataset `evaluations`: a row for each evaluation."""

from collections.abc import Iterator, Mapping
from typing import Any

from orjson import loads
from sqlalchemy import and_, case, func, select

from app.analytics.datasets.cells import (
    Values,
    by_column,
    columns,
    documents,
    moments,
    plain,
    truths,
)
from app.analytics.engine.facts import METRICS
from app.analytics.models import EvaluationFact
from app.analytics.wishes import Wish
from app.core.snapshots import Rows
from app.evaluations.listing import HAS_VERDICT
from app.evaluations.models import Evaluation, EvaluationResult

COLUMNS = columns(
    "evaluation_id:key revision:whole engagement_id:key campaign_id:key campaign call_center "
    "executive_id:key executive source_type:key source_id:key external_id channel:key language "
    "status:key review_status:key score:whole "
    "raw_score:number compliance_score:number judged_weight_percent:number has_verdict:truth "
    "passed:truth auto_failed:truth failed_criteria:words customer_sentiment:number "
    "sentiment_trend:key resolution:key topics:words duration_seconds:whole turn_count:whole "
    "talk_ratio:number silence_percent:number interruptions_by_agent:whole agent_wpm:number "
    "first_response_seconds:number scorecard_id:key scorecard_version:whole engine "
    "confidence:number started_at:key completed_at:key"
)
BATCH = 1000
_MEASURED = {
    "talk_ratio": "talk_ratio",
    "silence_percent": "silence_percent",
    "interruptions_by_agent": "interruptions",
    "agent_wpm": "agent_wpm",
    "first_response_seconds": "first_response_seconds",
}
_OF = Evaluation.__table__.c
_FACTS = EvaluationFact.__table__
_FACT = _FACTS.c
_JSON = ("failed_criteria", "topics", "engine")


def _columns() -> Iterator[Any]:
    """Name what is read as the dataset names it; measures come from the fact, or the results."""
    for name in (column.name for column in COLUMNS):
        if name == "evaluation_id":
            yield _OF.id.label(name)
        elif name in _JSON:
            yield plain(_OF[name]).label(name)
        elif name in _MEASURED:
            yield _FACT[_MEASURED[name]].label(name)
        elif name == HAS_VERDICT.name:
            yield HAS_VERDICT
        else:
            yield _OF[name]
    # Only the current revision of a source has a fact.
    of_result = select(plain(EvaluationResult.document["metrics"])).where(
        EvaluationResult.evaluation_id == _OF.id
    )
    is_superseded = and_(_FACT.id.is_(None), _OF.status == "completed")
    yield case((is_superseded, of_result.scalar_subquery())).label("metrics")


ROWS = (
    select(*_columns())
    .select_from(Evaluation.__table__)
    .outerjoin(_FACTS, (_FACT.source_id == _OF.source_id) & (_FACT.evaluation_id == _OF.id))
)
LEAST_ROWS = select(func.count()).select_from(Evaluation.__table__)
_NAMES = [column.name for column in ROWS.selected_columns]


def values(rows: Rows, wish: Wish) -> list[Values]:
    """Return the columns of these rows, in their order."""
    found: dict[str, Values] = dict(zip(_NAMES, by_column(rows), strict=True))
    found |= {name: truths(found[name]) for name in ("has_verdict", "passed", "auto_failed")}
    found |= {name: documents(found[name]) for name in ("failed_criteria", "topics")}
    found["engine"] = documents(found["engine"], _engine)
    found |= {name: moments(found[name], wish.zone) for name in ("started_at", "completed_at")}
    found |= _measured(found)
    return [found[column.name] for column in COLUMNS]


def _measured(found: Mapping[str, Values]) -> dict[str, list[Any]]:
    """Return the measures of facts; where there is no fact, those of results."""
    measures = {name: list(found[name]) for name in _MEASURED}
    for place, text in enumerate(found["metrics"]):
        if text:
            metrics = loads(text)
            for name, measure in _MEASURED.items():
                measures[name][place] = metrics.get(METRICS[measure])
    return measures


def _engine(engine: Mapping[str, Any]) -> str:
    """Name the engine by its kind and its model."""
    return ":".join(part for part in (engine.get("kind"), engine.get("model")) if part)
