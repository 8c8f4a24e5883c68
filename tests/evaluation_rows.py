"""Evaluations as they lie in the table, many at once."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert

from app.core.ids import new_id
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation, EvaluationTotal, SearchText

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
COMMON = {
    "source_type": "conversation",
    "channel": "chat",
    "language": "en",
    "status": "completed",
    "scorecard_id": new_id("sc"),
    "scorecard_version": 1,
    "scorecard_name": "Chat",
    "score": None,
    "confidence": None,
    "passed": None,
    "resolution": None,
    "sentiment_trend": None,
    "executive_id": None,
    "engagement_id": None,
    "campaign_id": None,
    "started_at": None,
    "duration_seconds": None,
}


def rows_of(runtime: Runtime, *several: dict[str, Any], text: str = "") -> list[str]:
    """Write evaluations as they lie in the table, each a minute older than the one before."""
    rows = []
    for index, values in enumerate(several):
        moment = NOW - timedelta(minutes=index)
        own = {"id": new_id("eval"), "source_id": new_id("conv"), "created_at": moment}
        rows.append({**COMMON, **own, "updated_at": moment, "completed_at": moment, **values})
    with runtime.db.writing() as session:
        session.execute(insert(Evaluation), rows)
        session.execute(
            insert(SearchText), [{"evaluation_id": row["id"], "text": text} for row in rows]
        )
        session.execute(
            insert(EvaluationTotal),
            [{"kind": kind, "quantity": len(rows)} for kind in ("all", "current")],
        )
    return [row["id"] for row in rows]
