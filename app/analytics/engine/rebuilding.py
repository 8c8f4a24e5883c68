"""Rebuilding of facts from the evaluations, and checks of facts and parts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.analytics.engine import facts, parts
from app.analytics.engine.database import FactDatabase, load_facts
from app.analytics.engine.facts import LayoutIds
from app.analytics.engine.parts import Part
from app.analytics.models import EvaluationFact
from app.evaluations.models import Evaluation, EvaluationResult

BATCH = 500
_EVALUATION = Evaluation.__table__.c
_FACT = EvaluationFact.__table__.c
_CURRENT = select(_EVALUATION.id).where(_EVALUATION.is_current)
_ROWS = (
    select(
        _EVALUATION.id,
        _EVALUATION.topics,
        *(_EVALUATION[name] for name in facts.COPIED),
        EvaluationResult.document,
    )
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _EVALUATION.id)
    .where(_EVALUATION.is_current)
    .order_by(_EVALUATION.id)
    .limit(BATCH)
)
_DIFFERENT = """
    WITH actual AS (
        SELECT * FROM expected WHERE false
        UNION ALL BY NAME
        SELECT * FROM read_parquet($files)
        WHERE id NOT IN (SELECT unnest($pending_ids::BIGINT[]))
    )
    SELECT count(DISTINCT id) FROM (
        (FROM actual EXCEPT ALL FROM expected) UNION ALL (FROM expected EXCEPT ALL FROM actual)
    )
"""


@dataclass(frozen=True, slots=True)
class _FactDifference:
    """An expected fact, and the columns that differ: all of them where the fact is missing."""

    expected: Mapping[str, Any]
    columns: Sequence[str]
    is_missing: bool

    def __str__(self) -> str:
        problem = "there is no fact" if self.is_missing else ", ".join(self.columns)
        return f"{self.expected['evaluation_id']}: {problem}"


def _differences_after(
    session: Session, reached: str
) -> tuple[str | None, Sequence[_FactDifference]]:
    """Compare the facts of the next 500 current evaluations with the expected ones.

    Returns:
        The last compared evaluation, None at the end, and the differences.
    """
    rows = session.execute(_ROWS.where(_EVALUATION.id > reached)).all()
    if not rows:
        return None, ()
    known = session.execute(
        select(EvaluationFact.__table__).where(_FACT.source_id.in_([row.source_id for row in rows]))
    )
    by_source = {fact.source_id: fact._asdict() for fact in known}
    differences = []
    layout_ids = LayoutIds(session)
    for row in rows:
        expected = facts.fact_of(layout_ids, row, row.document or {})
        fact = by_source.get(row.source_id, {})
        wrong = [name for name, value in expected.items() if fact.get(name, ...) != value]
        if wrong:
            differences.append(_FactDifference(expected, wrong, is_missing=not fact))
    return rows[-1].id, differences


def rebuild_after(session: Session, reached: str) -> str | None:
    """Write those facts of the next 500 current evaluations that are missing or wrong.

    Each batch is one transaction, so that an evaluation that changes meanwhile writes its own fact
    before or after it.

    Returns:
        The last compared evaluation, None at the end.
    """
    last_id, differences = _differences_after(session, reached)
    if differences:
        facts.write(session, [difference.expected for difference in differences])
    return last_id


def delete_stale(session: Session) -> int:
    """Delete the facts of deleted and superseded evaluations; return how many."""
    stale = delete(EvaluationFact).where(_FACT.evaluation_id.not_in(_CURRENT))
    months = session.execute(
        stale.returning(_FACT.part), execution_options={"synchronize_session": False}
    ).all()
    for month in {month for (month,) in months if month}:
        parts.discard(session, month)
    return len(months)


def fact_differences(session: Session) -> Iterator[str]:
    """Yield a line for each missing, wrong or stale fact."""
    reached: str | None = ""
    while reached is not None:
        reached, differences = _differences_after(session, reached)
        yield from map(str, differences)
    stale = select(_FACT.evaluation_id).where(_FACT.evaluation_id.not_in(_CURRENT))
    for evaluation_id in session.scalars(stale):
        yield f"{evaluation_id}: a fact of an evaluation that is not current"


def part_differences(session: Session, database: FactDatabase) -> Iterator[str]:
    """Yield a line for each part that is unreadable or differs from its facts."""
    for part in parts.registered(session, database.folder):
        problem = _problem(session, database, part)
        if problem:
            yield f"{part.month}: {problem}"


def _problem(session: Session, database: FactDatabase, part: Part) -> str | None:
    import duckdb  # noqa: PLC0415 - as in database.py

    if not part.is_readable:
        return "the file is missing or truncated"
    pending = session.scalars(select(_FACT.id).where(_FACT.part == part.month, _FACT.is_pending))
    parameters = {"files": [str(part.path)], "pending_ids": pending.all()}
    with closing(database.cursor()) as cursor:
        of_part = (_FACT.part == part.month, ~_FACT.is_pending)
        score_count = facts.widest(facts.all_layouts(session))
        load_facts(session, cursor, "expected", *of_part, score_count=score_count)
        try:
            (count,) = cursor.execute(_DIFFERENT, parameters).fetchall()[0]
        except duckdb.Error as error:
            return f"the file cannot be read: {error}"
    return f"{count} rows differ from the facts" if count else None
