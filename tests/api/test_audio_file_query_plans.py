"""Query plans of audio files: common filters and every sort use an index."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from app.audio_files import erasure, queries
from app.audio_files.models import AudioFile
from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.privacy import jobs
from tests.caller import Caller
from tests.recordings import reserve

pytestmark = pytest.mark.sqlite_only("plans are read as SQLite writes them")

ENGAGEMENT, CAMPAIGN, CALL_CENTER, EXECUTIVE = (
    f"{prefix}_01jd3v8xqkf6r9w2m5t7h4c0pz" for prefix in ("eng", "camp", "cc", "exec")
)


def plans_of(runtime: Runtime, ask: Callable[[Session], object]) -> list[str]:
    """Ask, and explain every select on recordings that it took."""
    seen: list[tuple[str, Any]] = []

    def collect(_: Any, __: Any, statement: str, given: Any, *___: Any) -> None:
        if "FROM audio_files" in statement:
            seen.append((statement, given))

    sqlalchemy.event.listen(runtime.db.engine, "before_cursor_execute", collect)
    try:
        with runtime.db.reading() as session:
            ask(session)
            connection = session.connection()
            asked = tuple(seen)
            return [
                "\n".join(
                    row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)
                )
                for sql, given in asked
            ]
    finally:
        sqlalchemy.event.remove(runtime.db.engine, "before_cursor_execute", collect)


def listing(sort: str, **filters: Any) -> Callable[[Session], object]:
    """Ask for a page."""
    return lambda session: queries.list_page(session, PageRequest(sort=sort), **filters)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "ix_audio_files_conversation"),
        ({"status": ["pending_upload"]}, "ix_audio_files_status"),
        ({"engagement_id": ENGAGEMENT}, "ix_audio_files_engagement"),
        ({"campaign_id": CAMPAIGN}, "ix_audio_files_campaign"),
        ({"call_center_id": CALL_CENTER}, "ix_audio_files_call_center"),
        ({"executive_id": EXECUTIVE}, "ix_audio_files_executive"),
    ],
)
def test_common_filters_use_an_index(
    client: Caller, runtime: Runtime, filters: dict[str, Any], index: str
) -> None:
    reserve(client)
    plans = plans_of(runtime, listing("-conversation_at", **filters))
    assert plans
    for plan in plans:
        assert "INDEX" in plan
        assert "TEMP B-TREE" not in plan
    if filters:
        assert all(index in plan for plan in plans)


def test_every_sort_uses_an_index(client: Caller, runtime: Runtime) -> None:
    reserve(client)
    fields = ("conversation_at", "created_at", "recorded_at", "duration_seconds", "size_bytes")
    for field, sign in product(fields, ("", "-")):
        page = plans_of(runtime, listing(sign + field))[-1]
        assert "USING INDEX ix_audio_files_" in page, (field, sign)
        assert "TEMP B-TREE" not in page, (field, sign)


def test_recordings_to_purge_are_found_by_an_index(runtime: Runtime) -> None:
    (given_up,) = plans_of(runtime, erasure.to_purge)
    assert "ix_audio_files_purge" in given_up
    (old,) = plans_of(
        runtime, lambda session: jobs.oldest_kept(session, AudioFile, utc_now(), limit=20)
    )
    assert "ix_audio_files_kept" in old
