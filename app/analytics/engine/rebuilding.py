"""Rebuilding of facts and parts from the evaluations, and verification of both."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.analytics.engine import facts, layouts, loading, parts
from app.analytics.engine.database import FactDatabase
from app.analytics.engine.parts import Part
from app.analytics.models import EvaluationFact
from app.evaluations.models import Evaluation, EvaluationResult

BATCH = 500
_OF = Evaluation.__table__.c
_FACT = EvaluationFact.__table__.c
_CURRENT = select(_OF.id).where(_OF.is_current)
_ROWS = (
    select(_OF.id, _OF.topics, *(_OF[name] for name in facts.COPIED), EvaluationResult.document)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)
    .where(_OF.is_current)
    .order_by(_OF.id)
    .limit(BATCH)
)
_DIFFERENT = """
    WITH found AS (
        SELECT * FROM expected WHERE false
        UNION ALL BY NAME
        SELECT * FROM read_parquet($files)
        WHERE id NOT IN (SELECT unnest($pending_ids::BIGINT[]))
    )
    SELECT count(DISTINCT id) FROM (
        (FROM found EXCEPT ALL FROM expected) UNION ALL (FROM expected EXCEPT ALL FROM found)
    )
"""


@dataclass(frozen=True, slots=True)
class FactDifference:
    """A fact as it should be, and the columns that differ; all of them where it is missing."""

    expected: Mapping[str, Any]
    columns: Sequence[str]
    is_missing: bool

    def __str__(self) -> str:
        wrong = "there is no fact" if self.is_missing else ", ".join(self.columns)
        return f"{self.expected['evaluation_id']}: {wrong}"


def differences_after(
    session: Session, reached: str
) -> tuple[str | None, Sequence[FactDifference]]:
    """Compare the facts of the next 500 current evaluations with what they should be.

    Returns:
        The last evaluation that was compared, None at the end, and what differs.
    """
    rows = session.execute(_ROWS.where(_OF.id > reached)).all()
    if not rows:
        return None, ()
    known = session.execute(
        select(EvaluationFact.__table__).where(_FACT.source_id.in_([row.source_id for row in rows]))
    )
    by_source = {fact.source_id: fact._asdict() for fact in known}
    found = []
    for row in rows:
        expected = facts.fact_of(session, row, row.document or {})
        fact = by_source.get(row.source_id, {})
        wrong = [name for name, value in expected.items() if fact.get(name, ...) != value]
        if wrong:
            found.append(FactDifference(expected, wrong, is_missing=not fact))
    return rows[-1].id, found


def rebuild_after(session: Session, reached: str) -> str | None:
    """Write those facts of the next 500 current evaluations that are missing or wrong.

    Each batch is one transaction: an evaluation that changes meanwhile writes its own fact before
    or after.

    Returns:
        The last evaluation that was compared, None at the end.
    """
    last_id, found = differences_after(session, reached)
    if found:
        facts.write(session, [difference.expected for difference in found])
    return last_id


def delete_stale(session: Session) -> int:
    """Delete the facts of evaluations that are not current, or gone; return how many."""
    stale = delete(EvaluationFact).where(_FACT.evaluation_id.not_in(_CURRENT))
    months = session.execute(
        stale.returning(_FACT.part), execution_options={"synchronize_session": False}
    ).all()
    for month in {month for (month,) in months if month}:
        parts.discard(session, month)
    return len(months)


def fact_differences(session: Session) -> Iterator[str]:
    """Name each current evaluation whose fact is missing or wrong, and each fact of another one."""
    reached: str | None = ""
    while reached is not None:
        reached, found = differences_after(session, reached)
        yield from map(str, found)
    stale = select(_FACT.evaluation_id).where(_FACT.evaluation_id.not_in(_CURRENT))
    for evaluation_id in session.scalars(stale):
        yield f"{evaluation_id}: a fact of an evaluation that is not current"


def part_differences(session: Session, database: FactDatabase) -> Iterator[str]:
    """Name each part that is unreadable, or whose rows are not those of its facts."""
    for part in parts.registered(session, database.folder):
        problem = _problem(session, database, part)
        if problem:
            yield f"{part.month}: {problem}"


def _problem(session: Session, database: FactDatabase, part: Part) -> str | None:
    import duckdb  # noqa: PLC0415 - as in database.py

    if not part.is_readable:
        return "the file is missing or cut off"
    score_count = layouts.widest(session)
    of_part = select(*loading.selected()).where(_FACT.part == part.month)
    pending = session.scalars(select(_FACT.id).where(_FACT.part == part.month, _FACT.is_pending))
    given = {"files": [str(part.path)], "pending_ids": pending.all()}
    with closing(database.cursor()) as cursor:
        loading.create_table(cursor, "expected", score_count=score_count)
        rows = session.execute(of_part.where(~_FACT.is_pending), execution_options=loading.STREAMED)
        for some in rows.partitions():
            loading.insert(cursor, "expected", some, score_count=score_count)
        try:
            (count,) = cursor.execute(_DIFFERENT, given).fetchall()[0]
        except duckdb.Error as error:
            return f"the file cannot be read: {error}"
    return f"{count} rows are not those of the facts" if count else None
