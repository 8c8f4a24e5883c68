"""Aggregates of facts as of one moment: over parts, and over the rows of the table that they lack."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from app.analytics.engine import layouts, loading, parts
from app.analytics.engine.database import FactDatabase, Row, fact_database
from app.analytics.engine.parts import Part
from app.analytics.engine.periods import Granularity, Period, bucket_starts
from app.analytics.engine.questions import Question
from app.analytics.models import EvaluationFact
from app.core.runtime import Runtime

_FACT = EvaluationFact.__table__.c
_HOUR = "epoch_us({moment}) // 3600000000"
# Each hour of UTC with the buckets that it touches, one or two: a join on hours is quick.
_BUCKETS = f"""
    JOIN (
        SELECT bucket_start, bucket_end, unnest(range(
            {_HOUR.format(moment="bucket_start")},
            ({_HOUR.format(moment="bucket_end - INTERVAL 1 MICROSECOND")}) + 1
        )) AS hour
        FROM (
            SELECT unnest($bucket_starts::TIMESTAMP[]) AS bucket_start,
                unnest($bucket_ends::TIMESTAMP[]) AS bucket_end
        )
    ) ON hour = {_HOUR.format(moment="created_at")}
        AND created_at >= bucket_start AND created_at < bucket_end
"""

Groups: TypeAlias = dict[Row, Row]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What to compute: SQL expressions over the columns of a part.

    `keys` are what facts are grouped by; `topic` and `bucket_start` are among the columns where
    facts are repeated for each topic, or told apart by hours, days, … of a zone. `numbers` are
    aggregates that can be combined over any split of the facts, by addition unless said.
    """

    keys: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ("count(*)",)
    condition: str = "status = 'completed'"
    by_topic: bool = False
    buckets: tuple[ZoneInfo, Granularity] | None = None
    combine: Callable[[Any, Any], Any] = operator.add


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
        statement = _Statement(aggregation, {**question.filters(), **(among or {})})
        rows = [*self._of_whole(sources, statement), *self._of_rest(sources, statement, period)]
        return _combined(rows, len(aggregation.keys), aggregation.combine)

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
        rows = self.session.execute(
            select(_FACT.id, _FACT.part).where(_FACT.is_pending, _FACT.part.is_not(None))
        )
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

    def _of_whole(self, sources: _Sources, statement: "_Statement") -> Iterator[Row]:
        sql = statement.sql(
            "SELECT *, filename FROM read_parquet($files, union_by_name = true) "
            "UNION ALL BY NAME SELECT *, NULL AS filename FROM no_facts",
            keys=("filename",),
        )
        remembered = self._database.remembered
        missing = []
        for part in sources.whole:
            rows = remembered.get((part.path, sql, statement.identity))
            if rows is None:
                missing.append(part)
            else:
                yield from rows
        if not missing:
            return
        begin, end = missing[0].first_at, missing[-1].last_at + timedelta(microseconds=1)
        given = {"files": [str(part.path) for part in missing]}
        by_file: dict[str, list[Row]] = {file: [] for file in given["files"]}
        for file, *numbers in self._run(sql, statement, begin, end, given):
            by_file[file].append(tuple(numbers))
        for part in missing:
            rows = by_file[str(part.path)]
            remembered.put((part.path, sql, statement.identity), rows)
            yield from rows

    def _of_rest(self, sources: _Sources, statement: "_Statement", period: Period) -> Sequence[Row]:
        given: dict[str, Any] = {}
        rest = f"SELECT * FROM {sources.table}"
        if sources.cut:
            cut = "SELECT * FROM read_parquet($files, union_by_name = true)"
            cut += " WHERE created_at >= $begin AND created_at < $end"
            given["files"] = [str(part.path) for part in sources.cut]
            given["begin"], given["end"] = _naive(period.start), _naive(period.end)
            if sources.changed_ids:
                cut += " AND id NOT IN (SELECT unnest($changed_ids::BIGINT[]))"
                given["changed_ids"] = sources.changed_ids
            rest = f"{cut} UNION ALL BY NAME SELECT * FROM no_facts UNION ALL BY NAME {rest}"
        return self._run(statement.sql(rest), statement, period.start, period.end, given)

    def _run(
        self,
        sql: str,
        statement: "_Statement",
        begin: datetime,
        end: datetime,
        given: Mapping[str, Any],
    ) -> Sequence[Row]:
        values = {**statement.values, **statement.buckets(begin, end), **given}
        return self._cursor.execute(sql, values).fetchall()


class _Statement:
    """The SQL of an aggregation, over any source of facts, and the values that it is given."""

    def __init__(self, aggregation: Aggregation, filters: Mapping[str, Sequence[str]]) -> None:
        self._aggregation = aggregation
        self._conditions = [aggregation.condition]
        self.values: dict[str, str] = {}
        for column, allowed in filters.items():
            names = [f"{column}_{place}" for place in range(len(allowed))]
            self.values |= dict(zip(names, allowed, strict=True))
            self._conditions.append(f"{column} IN ({', '.join(f'${name}' for name in names)})")
        zone, granularity = aggregation.buckets or (None, None)
        self.identity = (tuple(self.values.items()), zone and zone.key, granularity)

    def sql(self, source: str, *, keys: Sequence[str] = ()) -> str:
        """Return the statement over a source, with further keys before its own."""
        aggregation = self._aggregation
        columns = ", ".join((*keys, *aggregation.keys, *aggregation.numbers))
        repeated = ", unnest(topics) AS topic" if aggregation.by_topic else ""
        return (
            f"SELECT {columns} FROM (SELECT *{repeated} FROM ({source})) "
            f"{_BUCKETS if aggregation.buckets else ''} "
            f"WHERE {' AND '.join(self._conditions)} GROUP BY ALL"
        )

    def buckets(self, begin: datetime, end: datetime) -> dict[str, list[datetime]]:
        """Return the values for the buckets that facts from `begin` up to `end` are in."""
        if self._aggregation.buckets is None:
            return {}
        starts = bucket_starts(begin, end, *self._aggregation.buckets)
        return {
            "bucket_starts": [*map(_naive, starts)],
            "bucket_ends": [*map(_naive, (*starts[1:], end))],
        }


@contextmanager
def open_facts(runtime: Runtime) -> Iterator[FactReader]:
    """Open the facts of this moment for reading."""
    database = fact_database(runtime.settings)
    with runtime.db.reading() as session, closing(FactReader(session, database)) as facts:
        yield facts


def _combined(rows: Iterable[Row], key_count: int, combine: Callable[[Any, Any], Any]) -> Groups:
    groups: Groups = {}
    for row in rows:
        key, numbers = row[:key_count], row[key_count:]
        if key in groups:
            groups[key] = tuple(map(combine, groups[key], numbers))
        else:
            groups[key] = numbers
    return groups


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
