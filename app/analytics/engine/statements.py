"""SQL of aggregations over any source with the columns of a part."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.engine.periods import bucket_starts
from app.analytics.enums import Granularity

_HOUR = "epoch_us({moment}) // 3600000000"
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
    ) ON hour = {_HOUR.format(moment="created_at")}
        AND created_at >= bucket_start AND created_at < bucket_end
"""


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


class Statement:
    """The SQL of an aggregation over any source, and its parameters.

    Statements with equal `identity` compute the same numbers.
    """

    def __init__(self, aggregation: Aggregation, filters: Mapping[str, Sequence[str]]) -> None:
        self._aggregation = aggregation
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
            f"{_BUCKETS if aggregation.buckets else ''} "
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


def naive(moment: datetime) -> datetime:
    """Return a time in UTC without its zone, as DuckDB takes it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
