"""Query plans of conversations and voice calls: common filters use an index."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, insert

from app.conversations import messages
from app.conversations import queries as conversations
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.voice_calls import queries as voice_calls
from app.voice_calls.models import VoiceCall
from tests.running import running_runtime

pytestmark = pytest.mark.sqlite_only("the plans are SQLite's")

NOW = utc_now()
SHARED: list[tuple[dict[str, Any], str]] = [
    ({}, "-conversation_at"),
    ({}, "started_at"),
    ({}, "-started_at"),
    ({}, "score"),
    ({}, "-score"),
    ({"engagement_id": ""}, "-conversation_at"),
    ({"engagement_id": "", "start": NOW - timedelta(days=1), "end": NOW}, "-conversation_at"),
    ({"campaign_id": ""}, "-conversation_at"),
    ({"call_center_id": ""}, "-conversation_at"),
    ({"executive_id": "", "campaign_id": "", "engagement_id": ""}, "-conversation_at"),
    ({"start": NOW - timedelta(hours=2)}, "-started_at"),
    ({"q": "parcel"}, "-conversation_at"),
]
OF_CONVERSATIONS: list[tuple[dict[str, Any], str]] = [
    *SHARED,
    ({}, "-message_count"),
    ({"status": ["open"]}, "-conversation_at"),
    ({"platform": ["sms", "web"], "language": "en"}, "-conversation_at"),
    ({"has_evaluation": False}, "-conversation_at"),
    ({"min_messages": 40}, "-message_count"),
]
OF_CALLS: list[tuple[dict[str, Any], str]] = [
    *SHARED,
    ({}, "-duration_seconds"),
    ({"bot_id": "nora"}, "-conversation_at"),
    ({"status": ["busy"], "direction": ["inbound"], "outcome": ["callback"]}, "-conversation_at"),
    ({"has_recording": True, "transferred_to_human": True}, "-conversation_at"),
]


@pytest.fixture
def engagement_id(runtime: Runtime) -> str:
    """Two thousand of each, in an engagement and out of it."""
    with runtime.db.writing() as session:
        made = engagements.create(session, name="E", type="qa")["id"]
        for table, prefix, values in (
            (Conversation, "conv", {"platform": "web", "messages_digest": ""} | counts()),
            (VoiceCall, "call", {"direction": "inbound", "outcome": "unknown"} | flags()),
        ):
            rows = [
                {
                    "id": new_id(prefix),
                    "external_id": str(number),
                    "engagement_id": made if number % 2 else None,
                    "status": "completed" if table is VoiceCall else "closed",
                    "digest": "",
                    "score": number % 100,
                    "started_at": NOW - timedelta(minutes=number),
                    "created_at": NOW,
                    "updated_at": NOW,
                    **values,
                }
                for number in range(2000)
            ]
            session.execute(insert(table), rows)
    return made


def counts() -> dict[str, int]:
    kinds = ("", "customer_", "agent_", "bot_")
    return {f"{kind}message_count": 3 for kind in kinds}


def flags() -> dict[str, Any]:
    return {"transferred_to_human": False, "duration_seconds": 60}


@pytest.mark.parametrize(
    ("list_page", "table", "usual"),
    [
        (conversations.list_page, "conversations", OF_CONVERSATIONS),
        (voice_calls.list_page, "voice_calls", OF_CALLS),
    ],
)
def test_common_filters_do_not_scan_the_table(
    runtime: Runtime,
    engagement_id: str,
    list_page: Callable[..., Any],
    table: str,
    usual: list[tuple[dict[str, Any], str]],
) -> None:
    scans: list[Any] = []
    for filters, sort in usual:
        given = {
            name: (engagement_id if name == "engagement_id" else new_id("any"))
            if name.endswith("_id") and not value
            else value
            for name, value in filters.items()
        }

        def run(session: Any, sort: str = sort, given: dict[str, Any] = given) -> None:
            list_page(session, PageRequest(2, 25, sort), **given)

        for plan in plans_of(runtime, run, table):
            scans += [(filters, step) for step in plan if is_scan(step, table)]
            if not filters:
                assert "USE TEMP B-TREE FOR ORDER BY" not in plan, (sort, plan)
    assert scans == []


def test_a_count_within_an_engagement_reads_only_the_index(
    runtime: Runtime, engagement_id: str
) -> None:
    for list_page, table, given in (
        (conversations.list_page, "conversations", {"platform": ["web"], "min_messages": 1}),
        (voice_calls.list_page, "voice_calls", {"outcome": ["unknown"], "has_recording": False}),
    ):

        def run(session: Any, list_page: Any = list_page, given: Any = given) -> None:
            list_page(session, PageRequest(), engagement_id=engagement_id, **given)

        counting, _ = plans_of(runtime, run, table)
        assert counting[0].startswith(
            f"SEARCH {table} USING COVERING INDEX ix_{table}_engagement (engagement_id=?"
        )


def test_the_last_page_of_messages_costs_as_much_as_the_first(
    runtime: Runtime, engagement_id: str
) -> None:
    with runtime.db.reading() as session:
        [first, *_] = conversations.list_page(session, PageRequest()).items

    def run(session: Any) -> None:
        messages.list_page(session, running_runtime().keyring, PageRequest(100, 100), first["id"])

    [plan] = plans_of(runtime, run, "FROM messages")
    assert plan == [
        "SEARCH messages USING INDEX uq_messages_index (conversation_id=? AND index>? AND index<?)"
    ]


def is_scan(step: str, table: str) -> bool:
    """Return whether the rows themselves are read from the first to the last."""
    return step.startswith(f"SCAN {table}") and "INDEX" not in step


def plans_of(runtime: Runtime, run: Callable[[Any], None], about: str) -> list[list[str]]:
    """Run something and return SQLite's plan of each of its statements about a table."""
    with runtime.db.reading() as session:
        statements = list(recorded(session, run))
        connection = session.connection()
        return [
            [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in statements
            if about in sql
        ]


def recorded(session: Any, run: Callable[[Any], None]) -> Iterator[Any]:
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, sql: str, values: Any, context: Any, many: bool) -> None:
        seen.append((sql, values))

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    try:
        run(session)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return iter(seen)
