"""Keeping the facts in step: written in the transaction that changes what is current."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.analytics import codes, figures, layouts, spans
from app.analytics.models import Fact
from app.core.clock import as_utc
from app.core.database.upserts import upsert_into
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult

_FORMER = select(Fact.at).where(Fact.source_id.in_(bindparam("sources", expanding=True)))
_GROUPS = ("executive", "campaign", "call_center", "engagement", "scorecard")


def microseconds(moment: datetime) -> int:
    """Return a moment as the facts have it: whole microseconds since 1970."""
    return (as_utc(moment) - figures.EPOCH) // timedelta(microseconds=1)


def note(session: Session, current: Evaluation) -> None:
    """Write the fact of the evaluation that is current for its source, in place of the former."""
    document: Mapping[str, Any] = {}
    if current.status == Status.COMPLETED:
        result = session.get(EvaluationResult, current.id)
        document = result.document if result else {}
    write(session, [values_of(session, current, document)])


def write(session: Session, rows: list[dict[str, Any]]) -> None:
    """Write facts, each in place of its source's former one; sums of either are stale from now on."""
    moments = {row["at"] for row in rows}
    sources = {"sources": [row["source_id"] for row in rows]}
    moments.update(session.connection().execute(_FORMER, sources).scalars())
    insert = upsert_into(session, Fact)
    changed = {name: insert.excluded[name] for name in rows[0] if name != "source_id"}
    session.connection().execute(
        insert.on_conflict_do_update(index_elements=["source_id"], set_=changed), rows
    )
    spans.mark_stale(session, moments)


def values_of(
    session: Session,
    evaluation: Any,
    document: Mapping[str, Any],
    known: dict[str, int] | None = None,
) -> dict[str, Any]:
    """Build the columns of a fact.

    Args:
        evaluation: a row with the columns of `Evaluation`.
        document: its results; empty where there are none.
        known: codes that were looked up before; missing ones are added to it.
    """
    known = {} if known is None else known
    ids = {name: getattr(evaluation, f"{name}_id") for name in _GROUPS}
    if not known.keys() >= set(filter(None, ids.values())):
        known.update(codes.codes_of(session, ids.values()))
    at = microseconds(evaluation.created_at)
    lanes = layouts.lanes_of(document)
    return {
        "at": at,
        "channel": figures.CHANNELS.index(evaluation.channel),
        "layout": layouts.layout_of(session, lanes),
        **{name: known[key] if key else None for name, key in ids.items()},
        "figures": figures.packed(evaluation, at // 1_000_000, document.get("metrics") or {}),
        "shares": layouts.packed(document),
        "topics": "\n".join(evaluation.topics or ()),
        "source_id": evaluation.source_id,
        "evaluation_id": evaluation.id,
    }


def of_source(session: Session, source_id: str) -> Fact | None:
    """Return the fact of a source."""
    return session.scalar(select(Fact).where(Fact.source_id == source_id))
