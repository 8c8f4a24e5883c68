"""DuckDB database that reads parts and aggregates facts: one per process, in memory.

Facts that no part has are loaded from the SQL table into temporary tables with the columns of a part.
"""

import os
import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cachetools import LRUCache
from sqlalchemy import ColumnElement, Text, cast, select
from sqlalchemy.orm import Session

from app.analytics.models import EvaluationFact
from app.core.settings import Settings
from app.core.storage.opening import open_storage

if TYPE_CHECKING:
    import duckdb

Row: TypeAlias = tuple[Any, ...]

# About 30 MB.
_MOST_REMEMBERED_VALUES = 500_000


# Decimals are exact, so that sums do not depend on the order.
_MOMENTS = ("conversation_at", "created_at", "completed_at")
_TEXTS = (
    *("status", "source_type", "channel", "engagement_id", "campaign_id", "call_center_id"),
    *("executive_id", "scorecard_id", "sentiment_trend", "resolution"),
)
_WHOLE = ("id", "duration_seconds", "dead_air_count", "interruptions", "score_layout_id")
_SHARES = ("compliance_score", "customer_sentiment", "talk_ratio", "silence_percent")
_COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(_WHOLE, "BIGINT"),
    **dict.fromkeys(_MOMENTS, "TIMESTAMP"),
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    "score": "SMALLINT",
    **dict.fromkeys(("passed", "auto_failed"), "BOOLEAN"),
    **dict.fromkeys(_SHARES, "DECIMAL(9, 4)"),
    "agent_wpm": "DECIMAL(18, 4)",
    "first_response_seconds": "DECIMAL(18, 2)",
}
# Selected as JSON texts.
_LISTS = {"topics": "VARCHAR[]", "scores": "DECIMAL(7, 4)[]"}
FACT_COLUMNS = (*_COLUMNS, *_LISTS)
# The number of rows to read from the facts table at a time.
_STREAMED = {"yield_per": 2_000}


class FactDatabase:
    """Opens cursors, one per request or job, and remembers the aggregates of whole parts.

    DuckDB reads and writes nothing outside `folder`, uses no network and loads no extension.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = folder = parts_folder(settings)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Where the storage is not of this data folder, other hosts may share it.
        self.storage = open_storage(settings) if settings.storage_url else None
        self._remembered: LRUCache[Hashable, Sequence[Row]] = LRUCache(
            _MOST_REMEMBERED_VALUES, getsizeof=lambda rows: sum(map(len, rows)) + 1
        )
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """Open a connection with its own temporary tables."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection.cursor()

    def remembered(self, key: Hashable) -> Sequence[Row] | None:
        with self._lock:
            return self._remembered.get(key)

    def remember(self, key: Hashable, rows: Sequence[Row]) -> None:
        """Remember rows; the least recently used ones are dropped."""
        # Rows that exceed the limit on their own are refused.
        with self._lock, suppress(ValueError):
            self._remembered[key] = rows

    def forget(self) -> None:
        with self._lock:
            self._remembered.clear()

    def _connect(self) -> "duckdb.DuckDBPyConnection":
        # Not at the top: DuckDB takes 0.2 s to import and 20 MiB, and most processes do not use it.
        import duckdb  # noqa: PLC0415

        connection = duckdb.connect(
            config={
                "memory_limit": f"{self._settings.analytics_memory_mb}MB",
                "threads": self._settings.analytics_threads,
            }
        )
        for name, value in {
            "temp_directory": str(spill_folder(self.folder, os.getpid())),
            "allowed_directories": [str(self.folder)],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_external_access": False,
            "parquet_metadata_cache": True,
            "lock_configuration": True,
        }.items():
            connection.execute(f"SET {name} = {value!r}")
        return connection


def fact_database(settings: Settings) -> FactDatabase:
    """Return this process's database; a forked child gets one of its own."""
    return _open(os.getpid(), settings)


def parts_folder(settings: Settings) -> Path:
    return settings.data_dir.resolve() / "analytics"


def spill_folder(folder: Path, pid: int) -> Path:
    """Return the folder for the data that exceeds the memory limit of a process."""
    return folder / f"spill-{pid}"


@lru_cache(maxsize=4)
def _open(pid: int, settings: Settings) -> FactDatabase:
    return FactDatabase(settings)


def fact_columns() -> list[ColumnElement[Any]]:
    """Return the columns of the facts table that `insert_facts` takes, in its order."""
    table = EvaluationFact.__table__.c
    return [cast(table[name], Text) if name in _LISTS else table[name] for name in FACT_COLUMNS]


def score_column(place: int) -> str:
    return f"score_{place}"


def create_table(cursor: "duckdb.DuckDBPyConnection", name: str, *, score_count: int) -> None:
    columns = [
        *(f"{column} {kind}" for column, kind in _COLUMNS.items()),
        "topics VARCHAR[]",
        *(f"{score_column(place)} DECIMAL(7, 4)" for place in range(score_count)),
    ]
    cursor.execute(f"CREATE TEMP TABLE {name} ({', '.join(columns)})")


def insert_facts(
    cursor: "duckdb.DuckDBPyConnection", name: str, rows: Sequence[Row], *, score_count: int
) -> None:
    """Insert rows of the `fact_columns` into a table of `create_table`."""
    values = dict(zip(FACT_COLUMNS, zip(*rows, strict=True), strict=False))
    for column in _MOMENTS:
        values[column] = tuple(moment and naive(moment) for moment in values[column])
    facts = [f"unnest(${column}::{kind}[]) AS {column}" for column, kind in _COLUMNS.items()]
    facts += [
        f"CAST(unnest(${column}::JSON[]) AS {kind}) AS {column}" for column, kind in _LISTS.items()
    ]
    columns = [*_COLUMNS, "topics"]
    columns += [f"scores[{place + 1}]" for place in range(score_count)]
    cursor.execute(
        f"INSERT INTO {name} SELECT {', '.join(columns)} FROM (SELECT {', '.join(facts)})", values
    )


def load_facts(
    session: Session,
    cursor: "duckdb.DuckDBPyConnection",
    name: str,
    *conditions: ColumnElement[bool],
    score_count: int,
) -> None:
    create_table(cursor, name, score_count=score_count)
    rows = session.execute(select(*fact_columns()).where(*conditions), execution_options=_STREAMED)
    for batch in rows.partitions():
        insert_facts(cursor, name, batch, score_count=score_count)


def naive(moment: datetime) -> datetime:
    """Return a time in UTC without its zone, as DuckDB takes it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
