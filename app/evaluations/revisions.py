"""Revisions of a source: their order, which one is current, and the totals of evaluations."""

from collections.abc import Sequence

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.upserts import upsert_into
from app.core.hooks import hooks_of
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationTotal

ALL, CURRENT = "all", "current"
_TOTALS = EvaluationTotal.__table__.c
_TOTAL = select(_TOTALS.quantity).where(_TOTALS.kind == bindparam("wanted"))


def of_source(session: Session, *, source_type: str, source_id: str) -> Sequence[Evaluation]:
    """Return every revision of a source in order, locked until the commit."""
    return session.scalars(
        select(Evaluation)
        .where(Evaluation.source_id == source_id, Evaluation.source_type == source_type)
        .order_by(Evaluation.revision)
        .with_for_update()
    ).all()


def settle_current(revisions: Sequence[Evaluation]) -> Evaluation:
    """Make the newest completed revision current, or the newest one where none is completed.

    A re-evaluation so replaces the old revision in lists only when it has a result.
    """
    completed = [revision for revision in revisions if revision.status == Status.COMPLETED]
    chosen = (completed or revisions)[-1]
    for revision in revisions:
        if revision.is_current != (revision is chosen):
            revision.is_current = revision is chosen
            revision.updated_at = utc_now()
    return chosen


def notify_changed(session: Session, current: Evaluation) -> None:
    """Call `Hooks.on_evaluation_changed`: higher packages show the evaluation with its source."""
    for on_changed in hooks_of(session).on_evaluation_changed:
        on_changed(session, current)


def count_opened(session: Session, *, first_of_source: bool) -> None:
    """Update the totals: one counts every revision, the other every source once."""
    _add(session, ALL)
    if first_of_source:
        _add(session, CURRENT)


def total(session: Session, kind: str) -> int:
    """Return the number of evaluations: `ALL` revisions, or the `CURRENT` ones."""
    return session.scalar(_TOTAL, {"wanted": kind}) or 0


def _add(session: Session, kind: str) -> None:
    statement = upsert_into(session, EvaluationTotal).values(kind=kind, quantity=1)
    more = EvaluationTotal.quantity + 1
    session.execute(
        statement.on_conflict_do_update(index_elements=["kind"], set_={"quantity": more})
    )
