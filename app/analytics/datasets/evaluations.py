"""The dataset `evaluations`: a row for each evaluation (contract B11)."""

from collections.abc import Mapping, Sequence
from typing import Any

from orjson import loads
from sqlalchemy import String, select, type_coerce
from sqlalchemy.orm import Session

from app.analytics.datasets.cells import Row, columns, moments_in
from app.analytics.figures import METRICS, reader
from app.analytics.models import Fact
from app.analytics.wishes import Wish
from app.evaluations.models import Evaluation, EvaluationResult

COLUMNS = columns(
    "evaluation_id:key revision:whole engagement_id:key campaign_id:key campaign call_center "
    "executive_id:key executive source_type:key source_id:key external_id channel:key language "
    "status:key review_status:key score:whole "
    "raw_score:number compliance_score:number passed:truth auto_failed:truth failed_criteria:words "
    "customer_sentiment:number sentiment_trend:key resolution:key topics:words duration_seconds:whole "
    "turn_count:whole talk_ratio:number silence_percent:number interruptions_by_agent:whole "
    "agent_wpm:number first_response_seconds:number scorecard_id:key scorecard_version:whole engine "
    "confidence:number started_at:key completed_at:key"
)
BATCH = 1000
_MEASURED = (
    "talk_ratio",
    "silence_percent",
    "interruptions",
    "agent_wpm",
    "first_response_seconds",
)
_OF = Evaluation.__table__.c
_FACTS = Fact.__table__
_FACT = _FACTS.c


_read = reader(*_MEASURED)


def _plain(name: str) -> Any:
    """Take a column as the driver gives it: moments and lists are only written again."""
    return type_coerce(_OF[name], String)


_ROWS = (
    select(
        _OF.revision,
        _OF.id,
        _OF.engagement_id,
        _OF.campaign_id,
        _OF.campaign,
        _OF.call_center,
        _OF.executive_id,
        _OF.executive,
        _OF.source_type,
        _OF.source_id,
        _OF.external_id,
        _OF.channel,
        _OF.language,
        _OF.status,
        _OF.review_status,
        _OF.score,
        _OF.raw_score,
        _OF.compliance_score,
        _OF.passed,
        _OF.auto_failed,
        _plain("failed_criteria"),
        _OF.customer_sentiment,
        _OF.sentiment_trend,
        _OF.resolution,
        _plain("topics"),
        _OF.duration_seconds,
        _OF.turn_count,
        _OF.scorecard_id,
        _OF.scorecard_version,
        _plain("engine"),
        _OF.confidence,
        _plain("started_at"),
        _plain("completed_at"),
        _FACT.figures,
    )
    .select_from(Evaluation.__table__)
    .outerjoin(_FACTS, (_FACT.source_id == _OF.source_id) & (_FACT.evaluation_id == _OF.id))
)


def rows(session: Session, ids: Sequence[str], wish: Wish) -> list[Row]:
    """Return the rows of these evaluations, in their order."""
    found = session.execute(_ROWS.where(_OF.id.in_(ids)).order_by(_OF.id)).all()
    superseded = [row[1] for row in found if row[-1] is None and row[13] == "completed"]
    metrics = _metrics(session, superseded) if superseded else {}
    moment = moments_in(wish.zone)
    return [_row(row, metrics, moment) for row in found]


def _row(row: Any, metrics: Mapping[str, Mapping[str, Any]], moment: Any) -> Row:
    figures = row[-1]
    if figures is not None:
        measured = _read(figures)
    else:
        known = metrics.get(row[1], {})
        measured = [known.get(METRICS[name]) for name in _MEASURED]
    return (
        row[1],
        row[0],
        *row[2:20],
        _list(row[20]),
        *row[21:24],
        _list(row[24]),
        row[25],
        row[26],
        *measured,
        row[27],
        row[28],
        _engine(row[29]),
        row[30],
        moment(row[31]),
        moment(row[32]),
    )


def _list(kept: Any) -> Any:
    if kept == "[]":
        return []
    return loads(kept) if isinstance(kept, str) else kept


def _engine(kept: Any) -> str | None:
    """Name the engine by its kind and its model."""
    engine = loads(kept) if isinstance(kept, str) else kept
    if not engine:
        return None
    return ":".join(part for part in (engine.get("kind"), engine.get("model")) if part)


def _metrics(session: Session, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Read the metrics of revisions that are not current from their results."""
    rows = session.execute(
        select(EvaluationResult.evaluation_id, EvaluationResult.document).where(
            EvaluationResult.evaluation_id.in_(ids)
        )
    )
    return {evaluation_id: document.get("metrics") or {} for evaluation_id, document in rows}
