"""Revisions of a source: their order, which one is current, and the totals of evaluations."""

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.counters import add_at_commit
from app.core.database.session import Reader
from app.core.hooks import hooks_of
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationTotal

ALL, CURRENT = "all", "current"
_TOTALS = EvaluationTotal.__table__.c
_TOTAL = select(_TOTALS.quantity).where(_TOTALS.kind == bindparam("kind"))


def of_source(session: Session, *, source_type: str, source_id: str) -> Sequence[Evaluation]:
    """Return every revision of a source in order, locked until the commit."""
    return of_sources(session, [(source_type, source_id)])[source_type, source_id]


def of_sources(
    session: Session, sources: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[Evaluation]]:
    """Return every revision of each source in order, by type and id, locked until the commit."""
    revisions: dict[tuple[str, str], list[Evaluation]] = {source: [] for source in sources}
    rows = session.scalars(
        select(Evaluation)
        .where(Evaluation.source_id.in_([source_id for _, source_id in sources]))
        .order_by(Evaluation.source_id, Evaluation.revision)
        .with_for_update()
    )
    for evaluation in rows:
        source = evaluation.source_type, evaluation.source_id
        if source in revisions:
            revisions[source].append(evaluation)
    return revisions


def choose_current(revisions: Sequence[Evaluation]) -> Evaluation:
    """Make the newest completed revision current, or the newest one where none is completed.

    So a re-evaluation replaces the old revision in lists only when it has a result.
    """
    completed = [revision for revision in revisions if revision.status == Status.COMPLETED]
    current = (completed or revisions)[-1]
    for revision in revisions:
        if revision.is_current != (revision is current):
            revision.is_current = revision is current
            revision.updated_at = utc_now()
    return current


def notify_changed(session: Session, *changed: Evaluation) -> None:
    """Call `Hooks.on_evaluation_changed`: higher packages show evaluations with their sources."""
    for on_changed in hooks_of(session).on_evaluation_changed:
        on_changed(session, changed)


def count_opened(session: Session, number: int, *, first_of_source: int) -> None:
    """Update the totals: one counts every revision, the other every source once."""
    add_at_commit(session, EvaluationTotal, ALL, quantity=number)
    add_at_commit(session, EvaluationTotal, CURRENT, quantity=first_of_source)


def total(session: Reader, kind: str) -> int:
    """Return the number of evaluations: `ALL` revisions, or the `CURRENT` ones."""
    return session.scalar(_TOTAL, {"kind": kind}) or 0
