"""Reader of facts as of one moment: aggregates parts, and the table rows that the parts lack."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.analytics.engine import parts
from app.analytics.engine.database import FactDatabase, Row, fact_database, load_facts, naive
from app.analytics.engine.facts import all_layouts, widest
from app.analytics.engine.parts import Part
from app.analytics.engine.selection import Period, Selection, bucket_starts
from app.analytics.enums import Granularity
from app.analytics.models import EvaluationFact
from app.core.errors import ServiceUnavailable
from app.core.principal import current_teams, limited_to
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.scorecards import releases

_HOUR = "epoch_us({moment}) // 3600000000"
_FILED_BY = "conversation_at"
# Joins each hour of UTC to the one or two buckets that it overlaps: a join on hours is fast.
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
    ) ON hour = {_HOUR.format(moment="{moment}")}
        AND {{moment}} >= bucket_start AND {{moment}} < bucket_end
"""
_FACT = EvaluationFact.__table__.c


@dataclass(frozen=True, slots=True)
class Aggregation:
    """SQL of the keys to group by, and of the numbers to compute for each group.

    Both use the columns of a part. With `by_topic`, each fact counts once per topic and has the column
    `topic`; with `buckets`, the hours, days, … of a time zone, it has `bucket_start`. `combine` merges
    the numbers of two sets of facts; None if they cannot be merged.
    """

    keys: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ("count(*)",)
    condition: str = "status = 'completed'"
    by_topic: bool = False
    buckets: tuple[ZoneInfo, Granularity] | None = None
    combine: Callable[[Any, Any], Any] | None = operator.add


class _Statement:
    """The SQL of an aggregation over any source, and its parameters.

    Statements with equal `identity` compute the same numbers of whole parts.
    """

    def __init__(
        self, aggregation: Aggregation, filters: Mapping[str, Sequence[str]], moment: str
    ) -> None:
        self._aggregation, self._moment = aggregation, moment
        self._conditions = [aggregation.condition]
        self.values: dict[str, str] = {}
        for column, allowed in filters.items():
            names = [f"{column}_{place}" for place in range(len(allowed))]
            self.values |= dict(zip(names, allowed, strict=True))
            self._conditions.append(f"{column} IN ({', '.join(f'${name}' for name in names)})")
        self.identity = aggregation, tuple(self.values.items())
        self.is_combined = aggregation.combine is not None

    def sql(self, source: str) -> str:
        """Return the SQL; the first column is the `file` of the source."""
        aggregation = self._aggregation
        columns = ", ".join(("file", *aggregation.keys, *aggregation.numbers))
        repeated = ", unnest(topics) AS topic" if aggregation.by_topic else ""
        return (
            f"SELECT {columns} FROM (SELECT *{repeated} FROM ({source})) "
            f"{_BUCKETS.format(moment=self._moment) if aggregation.buckets else ''} "
            f"WHERE {' AND '.join(self._conditions)} GROUP BY ALL"
        )

    def buckets(self, begin: datetime, end: datetime) -> dict[str, list[datetime]]:
        """Return the parameters for the buckets of facts from `begin` to `end`."""
        if self._aggregation.buckets is None:
            return {}
        starts = bucket_starts(begin, end, *self._aggregation.buckets)
        return {
            "bucket_starts": [*map(naive, starts)],
            "bucket_ends": [*map(naive, (*starts[1:], end))],
        }


@dataclass(frozen=True, slots=True)
class _Sources:
    """The places of the facts of a period, which bounds the column `moment`.

    `whole` parts are within the period and up to date; `partial` parts have rows that are outside the
    period or have changed. `table` has the facts that are not up to date in any part.
    """

    whole: Sequence[Part]
    partial: Sequence[Part]
    table: str
    changed_ids: Sequence[int]
    moment: str


class FactReader:
    """Aggregates the facts of one transaction; close it after use.

    The numbers of whole parts never change and are remembered.

    Args:
        left_out: facts that do not count, with the months of their parts.
    """

    def __init__(
        self, session: Session, database: FactDatabase, left_out: Mapping[int, str | None]
    ) -> None:
        self.session = session
        self.left_out = left_out
        self._database = database
        self._cursor = database.cursor()
        self.layouts = all_layouts(session)
        self.score_count = widest(self.layouts)
        self._sources: dict[tuple[Period, str], _Sources] = {}

    def close(self) -> None:
        self._cursor.close()

    def aggregate(
        self,
        selection: Selection,
        aggregation: Aggregation,
        among: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[Row, Row]:
        """Compute the numbers of every group that has facts."""
        period, combine = selection.period, aggregation.combine
        place = period, selection.moment
        if place not in self._sources:
            self._sources[place] = self._open(*place)
        sources = self._sources[place]
        filters: Mapping[str, Sequence[str]] = {**selection.filters(), **(among or {})}
        if teams := current_teams():
            filters = teams.narrowed(filters)
        statement = _Statement(aggregation, filters, selection.moment)
        key_count, groups = len(aggregation.keys), dict[Row, Row]()
        for row in self._rows(sources, statement, period):
            key, numbers = row[:key_count], row[key_count:]
            if combine is not None and key in groups:
                numbers = tuple(map(combine, groups[key], numbers))
            groups[key] = numbers
        return groups

    def _open(self, period: Period, moment: str) -> _Sources:
        table = f"facts_{len(self._sources)}"
        registered = parts.registered(self.session, self._database.folder)
        readable = [part for part in registered if part.is_readable]
        lost_months = [part.month for part in registered if not part.is_readable]
        # A part with a fact that does not count is read as one with a fact that has changed.
        changed = {**self._changed(), **self.left_out}
        missing = (
            or_(_FACT.is_pending, _FACT.part.in_(lost_months)) if lost_months else _FACT.is_pending
        )
        load_facts(
            self.session,
            self._cursor,
            table,
            missing,
            *([_FACT.id.not_in([*self.left_out])] if self.left_out else ()),
            _FACT[moment] >= period.start,
            _FACT[moment] < period.end,
            score_count=self.score_count,
        )
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
        if moment != _FILED_BY:
            # The months of the parts say nothing about it.
            touched, whole = readable, []
        partial = [part for part in touched if part not in whole]
        return _Sources(whole, partial, table, list(changed), moment)

    def _changed(self) -> dict[int, str | None]:
        """Map the facts that have changed since their part was written to the month of the part."""
        # This form keeps SQLite from using the index on `part`, as nearly every fact has a part.
        has_part = func.coalesce(_FACT.part, "") != ""
        rows = self.session.execute(select(_FACT.id, _FACT.part).where(_FACT.is_pending, has_part))
        return {row.id: row.part for row in rows}

    def _rows(self, sources: _Sources, statement: _Statement, period: Period) -> Iterator[Row]:
        """Yield the rows of all facts; those of whole parts may be remembered."""
        computed: dict[str, list[Row]] = {}
        for part in sources.whole:
            rows = self._database.remembered((part.path, statement.identity))
            if rows is None:
                computed[str(part.path)] = []
            else:
                yield from rows
        source, parameters = _source(sources, [*computed], period, by_file=statement.is_combined)
        parameters |= {**statement.values, **statement.buckets(period.start, period.end)}
        for file, *row in self._cursor.execute(statement.sql(source), parameters).fetchall():
            computed.setdefault(file, []).append(tuple(row))
        for part in sources.whole if statement.is_combined else ():
            if str(part.path) in computed:
                rows = computed[str(part.path)]
                self._database.remember((part.path, statement.identity), rows)
        yield from chain.from_iterable(computed.values())


def _source(
    sources: _Sources, whole: Sequence[str], period: Period, *, by_file: bool
) -> tuple[str, dict[str, Any]]:
    """Return the SQL and the parameters of a source: the table, whole parts and partial parts.

    With `by_file`, its column `file` names the file of facts in whole parts; otherwise it is empty.
    """
    selects, parameters = [f"SELECT *, '' AS file FROM {sources.table}"], dict[str, Any]()
    if whole:
        file = "filename" if by_file else "''"
        selects.append(f"SELECT *, {file} AS file FROM read_parquet($whole, union_by_name = true)")
        parameters["whole"] = whole
    if sources.partial:
        partial = (
            "SELECT *, '' AS file FROM read_parquet($partial, union_by_name = true) "
            f"WHERE {sources.moment} >= $begin AND {sources.moment} < $end"
        )
        parameters["partial"] = [str(part.path) for part in sources.partial]
        parameters |= {"begin": naive(period.start), "end": naive(period.end)}
        if sources.changed_ids:
            partial += " AND id NOT IN (SELECT unnest($changed_ids::BIGINT[]))"
            parameters["changed_ids"] = sources.changed_ids
        selects.append(partial)
    return " UNION ALL BY NAME ".join(selects), parameters


def unreleased(session: Session) -> dict[int, str | None]:
    """Map the facts that are not released to the caller, an agent, to the months of their parts."""
    teams = current_teams()
    if teams is None or not teams.released_only:
        return {}
    ruled = session.scalars(releases.HOLDING_BACK).all()
    if not ruled:
        return {}
    # In a form that uses no index of its own: that of the teams leaves fewer.
    is_current = Evaluation.is_current.is_not(False)
    current = select(Evaluation.source_id).where(is_current, Evaluation.scorecard_id.in_(ruled))
    # The session adds what the caller may see to each statement: the second run finds what the first leaves out.
    shown = set(session.scalars(current))
    with limited_to(replace(teams, released_only=False)):
        hidden = set(session.scalars(current)) - shown
    rows = session.execute(select(_FACT.id, _FACT.part).where(_FACT.source_id.in_(hidden)))
    return {row.id: row.part for row in rows}


@contextmanager
def open_facts(
    runtime: Runtime, left_out: Mapping[int, str | None] | None = None
) -> Iterator[FactReader]:
    """Open a reader of the facts as of now.

    Args:
        left_out: see `FactReader`; by default what is not released to the caller.
    """
    database = fact_database(runtime.settings)
    # Without its file, a part is read from the table.
    with suppress(ServiceUnavailable):
        parts.fetch_missing(runtime.db, database)
    with runtime.db.reading() as session:
        if left_out is None:
            left_out = unreleased(session)
        with closing(FactReader(session, database, left_out)) as facts:
            yield facts
