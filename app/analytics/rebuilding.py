"""Making the facts anew from the evaluations, and holding facts and sums against the truth."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from app.analytics import codes, facts, figures, folding, spans
from app.analytics.models import Fact, FactCell, FactSpan
from app.analytics.views import View
from app.core.clock import iso_utc
from app.evaluations.models import Evaluation, EvaluationResult

BATCH = 500
_CELL = FactCell.__table__
_CELLS_OF = select(*(column for column in _CELL.c if column.name != "id")).where(
    _CELL.c.view.in_(list(View)), _CELL.c.span == bindparam("span")
)
_OF = Evaluation.__table__.c
_COLUMNS = (
    _OF.id,
    _OF.source_id,
    _OF.source_type,
    _OF.created_at,
    _OF.completed_at,
    _OF.status,
    _OF.channel,
    _OF.score,
    _OF.passed,
    _OF.auto_failed,
    _OF.compliance_score,
    _OF.customer_sentiment,
    _OF.sentiment_trend,
    _OF.resolution,
    _OF.duration_seconds,
    _OF.executive_id,
    _OF.campaign_id,
    _OF.call_center_id,
    _OF.engagement_id,
    _OF.scorecard_id,
    _OF.topics,
)
_ROWS = (
    select(*_COLUMNS, EvaluationResult.document)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)
    .where(_OF.is_current)
    .order_by(_OF.id)
    .limit(BATCH)
)


def rebuild_after(session: Session, reached: str) -> str | None:
    """Write the facts of the next current evaluations; return the last id, or None at the end.

    Each batch is a transaction: what is completed meanwhile writes its own fact before or after.
    """
    rows = _next(session, reached)
    if not rows:
        return None
    known: dict[str, int] = {}
    facts.write(session, [facts.values_of(session, row, row.document or {}, known) for row in rows])
    return str(rows[-1].id)


def drop_stale(session: Session) -> int:
    """Remove facts of evaluations that are not current, or gone; return how many."""
    current = select(_OF.id).where(_OF.is_current)
    stale = delete(Fact).where(Fact.evaluation_id.not_in(current)).returning(Fact.at)
    moments = session.scalars(stale).all()
    spans.mark_stale(session, moments)
    return len(moments)


def differences(session: Session) -> Iterator[str]:
    """Name each current evaluation whose fact is missing or says something else, in one snapshot."""
    reached, seen = "", 0
    while rows := _next(session, reached):
        seen += len(rows)
        reached = rows[-1].id
        found = session.scalars(
            select(Fact).where(Fact.source_id.in_([row.source_id for row in rows]))
        )
        by_source = {fact.source_id: fact for fact in found}
        for row in rows:
            fact = by_source.get(row.source_id)
            if fact is None:
                yield f"{row.id}: there is no fact"
            elif wrong := _wrong(fact, facts.values_of(session, row, row.document or {})):
                yield f"{row.id}: {', '.join(wrong)}"
        session.expunge_all()
    stray = select(Fact.evaluation_id).where(
        Fact.evaluation_id.not_in(select(_OF.id).where(_OF.is_current))
    )
    for evaluation_id in session.scalars(stray):
        yield f"{evaluation_id}: a fact of what is not current"


def span_differences(session: Session) -> Iterator[str]:
    """Name each span whose sums are given out and are not those of its facts."""
    ready = select(FactSpan).where(FactSpan.state == spans.READY).order_by(FactSpan.id)
    for span in session.scalars(ready).all():
        summed = folding.sum_up(session, span.id, from_facts=True)
        topics = codes.known(session, folding.topics_of(summed))
        ought = {_named(cell): cell for cell in folding.cells(span.id, summed, topics)}
        rows = [row._asdict() for row in session.execute(_CELLS_OF, {"span": span.id})]
        found = {_named(row): row for row in rows}
        if found != ought or span.views != sum(1 << view for view in summed):
            start = figures.EPOCH + timedelta(microseconds=spans.range_of(span.id)[0])
            yield f"{spans.LEVELS[spans.level_of(span.id)]} h from {iso_utc(start)}: other sums"


def _named(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("view", "member", *View.FULL.names))


def _next(session: Session, reached: str) -> Sequence[Any]:
    return session.execute(_ROWS.where(_OF.id > reached)).all()


def _wrong(fact: Fact, values: dict[str, Any]) -> list[str]:
    wrong = [name for name, value in values.items() if getattr(fact, name) != value]
    if "figures" in wrong:
        is_, ought = figures.unpacked(fact.figures), figures.unpacked(values["figures"])
        wrong.remove("figures")
        wrong += [name for name in ought if is_[name] != ought[name]]
    return wrong
