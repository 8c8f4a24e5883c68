"""Facts: one row for the current evaluation of each source, written in its transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.analytics.engine import layouts
from app.analytics.engine.layouts import LayoutIds
from app.analytics.models import EvaluationFact
from app.core.database.upserts import upsert_into
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult

COPIED = (
    "source_id",
    "source_type",
    "status",
    "channel",
    "engagement_id",
    "campaign_id",
    "call_center_id",
    "executive_id",
    "scorecard_id",
    "created_at",
    "completed_at",
    "score",
    "passed",
    "auto_failed",
    "compliance_score",
    "customer_sentiment",
    "sentiment_trend",
    "resolution",
    "duration_seconds",
)
METRICS = {
    "talk_ratio": "talkRatio",
    "silence_percent": "silencePercent",
    "dead_air_count": "deadAirCount",
    "interruptions": "interruptionsByAgent",
    "agent_wpm": "agentWpm",
    "first_response_seconds": "firstResponseSeconds",
}


def record(session: Session, evaluations: Sequence[Evaluation]) -> None:
    """Write the facts of evaluations that are current for their sources.

    Call it in every transaction that makes evaluations current or changes them.
    """
    layout_ids = LayoutIds(session)
    written = []
    for evaluation in evaluations:
        document: Mapping[str, Any] = {}
        if evaluation.status == Status.COMPLETED:
            result = session.get(EvaluationResult, evaluation.id)
            document = result.document if result else {}
        written.append(fact_of(layout_ids, evaluation, document))
    write(session, written)


def write(session: Session, facts: Sequence[Mapping[str, Any]]) -> None:
    """Insert facts, or replace those of the same source; they become pending."""
    insert = upsert_into(session, EvaluationFact)
    changed = {name: insert.excluded[name] for name in facts[0] if name != "source_id"}
    changed |= {"version": EvaluationFact.version + 1, "is_pending": True}
    session.connection().execute(
        insert.on_conflict_do_update(index_elements=["source_id"], set_=changed), facts
    )


def fact_of(layout_ids: LayoutIds, evaluation: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a fact.

    Args:
        evaluation: a row with the columns of `Evaluation`.
        document: its results; empty where there are none.
    """
    metrics = document.get("metrics") or {}
    return {
        **{name: getattr(evaluation, name) for name in COPIED},
        **{name: metrics.get(key) for name, key in METRICS.items()},
        "evaluation_id": evaluation.id,
        "topics": list(evaluation.topics or ()),
        "score_layout_id": layout_ids.of(layouts.columns_of(document)),
        "scores": layouts.scores_of(document),
    }
