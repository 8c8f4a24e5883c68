"""Aggregates of facts as of one moment: over parts, and over the rows of the table that they lack."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.analytics.engine import layouts, loading, parts
from app.analytics.engine.database import FactDatabase, Row, fact_database
from app.analytics.engine.parts import Part
from app.analytics.engine.periods import Period
from app.analytics.engine.questions import Question
from app.analytics.engine.statements import Aggregation, Statement, naive
from app.analytics.models import EvaluationFact
from app.core.runtime import Runtime

_FACT = EvaluationFact.__table__.c
Groups: TypeAlias = dict[Row, Row]


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where the facts of a period are.

    `whole` parts lie within the period and are as the facts table is; of `cut` parts some rows do
    not count. `table` has the facts that no part has as they are now.
    """

    whole: Sequence[Part]
    cut: Sequence[Part]
    table: str
    changed_ids: Sequence[int]


class FactReader:
    """Aggregates the facts as they are in one transaction; close it after use.

    Whole parts give the same numbers every time: these are remembered.
    """

    def __init__(self, session: Session, database: FactDatabase) -> None:
        self.session = session
        self._database = database
        self._cursor = database.cursor()
        self.layouts = layouts.all_layouts(session)
        self.score_count = max(map(len, self.layouts.values()), default=0)
        self._sources: dict[Period, _Sources] = {}
        loading.create_table(self._cursor, "no_facts", score_count=self.score_count)

    def close(self) -> None:
        """Free the temporary tables."""
        self._cursor.close()

    def aggregate(
        self,
        question: Question,
        aggregation: Aggregation,
        among: Mapping[str, Sequence[str]] | None = None,
    ) -> Groups:
        """Compute the numbers of every group that has facts.

        Args:
            among: values that are allowed in columns, besides the filters of the question.
        """
        period = question.period
        sources = self._sources.get(period)
        if sources is None:
            sources = self._sources[period] = self._open(period)
        statement = Statement(aggregation, {**question.filters(), **(among or {})})
        key_count = len(aggregation.keys)
        if aggregation.combine is None:
            every = [*sources.whole, *sources.cut]
            rows = self._of_rest(every, sources, statement, period)
            return {row[:key_count]: row[key_count:] for row in rows}
        groups: Groups = {}
        for row in chain(
            self._of_whole(sources.whole, statement),
            self._of_rest(sources.cut, sources, statement, period),
        ):
            key, numbers = row[:key_count], row[key_count:]
            if key in groups:
                numbers = tuple(map(aggregation.combine, groups[key], numbers))
            groups[key] = numbers
        return groups

    def _open(self, period: Period) -> _Sources:
        table = f"facts_{len(self._sources)}"
        while True:
            registered = parts.registered(self.session, self._database.folder)
            readable = [part for part in registered if part.is_readable]
            lost = [part.month for part in registered if not part.is_readable]
            changed = self._changed()
            loading.create_table(self._cursor, table, score_count=self.score_count)
            self._load(table, period, lost)
            # Where each statement sees what is committed by then, a part may have been written
            # between them.
            if parts.registered(self.session, self._database.folder) == registered:
                break
            self._cursor.execute(f"DROP TABLE {table}")
        touched = [
            part for part in readable if part.first_at < period.end and part.last_at >= period.start
        ]
        whole = [
            part
            for part in touched
            if part.first_at >= period.start
            and part.last_at < period.end
            and part.month not in changed.values()
        ]
        return _Sources(
            whole, [part for part in touched if part not in whole], table, list(changed)
        )

    def _changed(self) -> dict[int, str]:
        """Map facts that have changed since to the month of the part that has them."""
        # In a form that keeps SQLite from the index on `part`, as nearly every fact has one.
        has_part = func.coalesce(_FACT.part, "") != ""
        rows = self.session.execute(select(_FACT.id, _FACT.part).where(_FACT.is_pending, has_part))
        return {row.id: row.part for row in rows}

    def _load(self, table: str, period: Period, lost: Sequence[str]) -> None:
        rows = self.session.execute(
            select(*loading.selected()).where(
                or_(_FACT.is_pending, _FACT.part.in_(lost)) if lost else _FACT.is_pending,
                _FACT.created_at >= period.start,
                _FACT.created_at < period.end,
            ),
            execution_options=loading.STREAMED,
        )
        for some in rows.partitions():
            loading.insert(self._cursor, table, some, score_count=self.score_count)

    def _of_whole(self, whole: Sequence[Part], statement: Statement) -> Iterator[Row]:
        """Yield the rows of parts that all count, part by part."""
        sql = statement.sql(
            "SELECT *, filename FROM read_parquet($files, union_by_name = true) "
            "UNION ALL BY NAME SELECT *, NULL AS filename FROM no_facts",
            keys=("filename",),
        )
        missing = []
        for part in whole:
            rows = self._database.remembered((part.path, sql, statement.identity))
            if rows is None:
                missing.append(part)
            else:
                yield from rows
        if not missing:
            return
        by_file: dict[str, list[Row]] = {str(part.path): [] for part in missing}
        begin, end = missing[0].first_at, missing[-1].last_at + timedelta(microseconds=1)
        for file, *values in self._run(sql, statement, begin, end, {"files": [*by_file]}):
            by_file[file].append(tuple(values))
        for part in missing:
            rows = by_file[str(part.path)]
            self._database.remember((part.path, sql, statement.identity), rows)
            yield from rows

    def _of_rest(
        self, cut: Sequence[Part], sources: _Sources, statement: Statement, period: Period
    ) -> Sequence[Row]:
        """Return the rows of what counts of parts, and of the facts that are not in any."""
        given: dict[str, Any] = {}
        rest = f"SELECT * FROM {sources.table}"
        if cut:
            given |= {
                "files": [str(part.path) for part in cut],
                "begin": naive(period.start),
                "end": naive(period.end),
                "changed_ids": sources.changed_ids,
            }
            rest = (
                f"{rest} UNION ALL BY NAME SELECT * "
                "FROM read_parquet($files, union_by_name = true) "
                "WHERE created_at >= $begin AND created_at < $end "
                "AND id NOT IN (SELECT unnest($changed_ids::BIGINT[]))"
            )
        return self._run(statement.sql(rest), statement, period.start, period.end, given)

    def _run(
        self,
        sql: str,
        statement: Statement,
        begin: datetime,
        end: datetime,
        given: Mapping[str, Any],
    ) -> Sequence[Row]:
        values = {**statement.values, **statement.buckets(begin, end), **given}
        return self._cursor.execute(sql, values).fetchall()


@contextmanager
def open_facts(runtime: Runtime) -> Iterator[FactReader]:
    """Open the facts of this moment for reading."""
    database = fact_database(runtime.settings)
    with runtime.db.reading() as session, closing(FactReader(session, database)) as facts:
        yield facts
