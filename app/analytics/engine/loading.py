"""Loading of facts from the SQL table into a temporary DuckDB table with the columns of a part."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Text, cast

from app.analytics.engine.database import Row
from app.analytics.engine.statements import naive
from app.analytics.models import EvaluationFact

if TYPE_CHECKING:
    import duckdb

# Decimals are exact, so that sums do not depend on the order.
_COLUMNS: Mapping[str, str] = {
    "id": "BIGINT",
    "created_at": "TIMESTAMP",
    "completed_at": "TIMESTAMP",
    "status": "VARCHAR",
    "source_type": "VARCHAR",
    "channel": "VARCHAR",
    "engagement_id": "VARCHAR",
    "campaign_id": "VARCHAR",
    "call_center_id": "VARCHAR",
    "executive_id": "VARCHAR",
    "scorecard_id": "VARCHAR",
    "score": "SMALLINT",
    "passed": "BOOLEAN",
    "auto_failed": "BOOLEAN",
    "compliance_score": "DECIMAL(9, 4)",
    "customer_sentiment": "DECIMAL(9, 4)",
    "sentiment_trend": "VARCHAR",
    "resolution": "VARCHAR",
    "duration_seconds": "BIGINT",
    "talk_ratio": "DECIMAL(9, 4)",
    "silence_percent": "DECIMAL(9, 4)",
    "dead_air_count": "BIGINT",
    "interruptions": "BIGINT",
    "agent_wpm": "DECIMAL(18, 4)",
    "first_response_seconds": "DECIMAL(18, 2)",
    "score_layout_id": "BIGINT",
}
_MOMENTS = ("created_at", "completed_at")
# Selected as JSON texts.
_LISTS = {"topics": "VARCHAR[]", "scores": "DECIMAL(7, 4)[]"}
FACT_COLUMNS = (*_COLUMNS, *_LISTS)
# The number of rows to read from the facts table at a time.
STREAMED = {"yield_per": 2_000}


def selected() -> list[ColumnElement[Any]]:
    """Return the columns of the facts table that `insert` takes, in its order."""
    table = EvaluationFact.__table__.c
    return [cast(table[name], Text) if name in _LISTS else table[name] for name in FACT_COLUMNS]


def score_column(place: int) -> str:
    """Return the column of a part for one place in the scores."""
    return f"score_{place}"


def create_table(cursor: "duckdb.DuckDBPyConnection", name: str, *, score_count: int) -> None:
    """Create an empty temporary table with the columns of a part."""
    columns = [
        *(f"{column} {kind}" for column, kind in _COLUMNS.items()),
        "topics VARCHAR[]",
        *(f"{score_column(place)} DECIMAL(7, 4)" for place in range(score_count)),
    ]
    cursor.execute(f"CREATE TEMP TABLE {name} ({', '.join(columns)})")


def insert(
    cursor: "duckdb.DuckDBPyConnection", name: str, rows: Sequence[Row], *, score_count: int
) -> None:
    """Insert rows of the `selected` columns into a table of `create_table`."""
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
