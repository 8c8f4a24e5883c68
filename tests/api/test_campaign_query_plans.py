"""Query plans of campaigns: common filters and every sort use an index."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import sqlalchemy

from app.campaigns import merging, service
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.engagements import service as engagements
from tests.evaluation_rows import rows_of

pytestmark = pytest.mark.sqlite_only("plans are read as SQLite writes them")


@pytest.fixture
def statements(runtime: Runtime) -> Iterator[list[tuple[str, Any]]]:
    """Collect every select on campaigns with its arguments; only SQLite tells plans this way."""
    seen: list[tuple[str, Any]] = []

    def collect(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        if "FROM campaigns" in statement:
            seen.append((statement, parameters))

    sqlalchemy.event.listen(runtime.db.engine, "before_cursor_execute", collect)
    yield seen
    sqlalchemy.event.remove(runtime.db.engine, "before_cursor_execute", collect)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "ix_campaigns_created"),
        ({"status": ["active"]}, "ix_campaigns_status"),
        ({"status": ["active", "draft"]}, "ix_campaigns_status"),
        ({"type": ["sales"]}, "ix_campaigns_type"),
        ({"engagement_id": ""}, "ix_campaigns_engagement"),
    ],
)
def test_common_filters_use_an_index(
    runtime: Runtime, statements: list[tuple[str, Any]], filters: dict[str, Any], index: str
) -> None:
    plans = plans_of(runtime, statements, "-created_at", filters)
    assert len(plans) == 2
    for plan in plans:
        assert "INDEX" in plan
        assert "SCAN campaigns\n" not in plan + "\n"
    assert index in plans[-1]
    if len(filters.get("status", "")) < 2:
        assert "TEMP B-TREE" not in plans[-1]


def test_every_sort_uses_an_index(runtime: Runtime, statements: list[tuple[str, Any]]) -> None:
    for field, sign in product(("name", "starts_at", "mean_score", "created_at"), ("", "-")):
        page = plans_of(runtime, statements, sign + field, {})[-1]
        assert "USING INDEX ix_campaigns_" in page, (field, sign)
        assert "TEMP B-TREE" not in page, (field, sign)


def test_batches_of_merges_and_new_names_scan_no_table_of_many_rows(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        old, into, new = (
            service.upsert(session, key, {"name": key}).record["id"]
            for key in ("old", "into", "new")
        )
    rows_of(runtime, *({"campaign_id": key, "campaign": "old"} for key in (old, new)))
    with runtime.db.writing() as session:
        merging.merge(session, into, [old])
    plans: list[str] = []
    with runtime.db.writing() as session:
        connection = session.connection()

        def explain(_: Any, __: Any, statement: str, given: Any, *___: Any) -> None:
            if statement.startswith(("SELECT", "UPDATE")):
                plan = connection.connection.cursor().execute(
                    f"EXPLAIN QUERY PLAN {statement}", given
                )
                plans.extend(row[3] for row in plan)

        sqlalchemy.event.listen(connection, "before_cursor_execute", explain)
        for follow in runtime.hooks.campaign_batches:
            follow(session)
    assert any("ix_evaluations_campaign" in step for step in plans)
    scanned = {step.split()[1] for step in plans if step.startswith("SCAN")}
    assert scanned == {"campaigns", "merged_campaigns"}


def plans_of(
    runtime: Runtime, statements: list[tuple[str, Any]], sort: str, filters: dict[str, Any]
) -> list[str]:
    """List a page over a row that the filters find; explain the count and the page."""
    with runtime.db.writing() as session:
        engagement_id = engagements.create(session, name="E", type="qa")["id"]
        values = {"name": "N", "status": "active", "type": "sales", "engagement_id": engagement_id}
        service.upsert(session, "row", values)
    if "engagement_id" in filters:
        filters = {"engagement_id": engagement_id}
    with runtime.db.reading() as session:
        statements.clear()
        service.list_page(session, PageRequest(sort=sort), **filters)
        connection = session.connection()
        return [
            "\n".join(
                row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)
            )
            for sql, given in tuple(statements)
        ]
