"""Counters that many transactions add to."""

from contextlib import suppress

import pytest
from sqlalchemy import delete

from app.audio_files import totals
from app.audio_files.models import AudioFileTotal
from app.core.database.counters import add_at_commit
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.engagements.models import Engagement
from tests.caller import Caller
from tests.recordings import reserve

pytestmark = pytest.mark.sql


@pytest.fixture
def engagement_id(runtime: Runtime) -> str:
    with runtime.db.writing() as session:
        return str(engagements.create(session, name="Audit", type="qa")["id"])


def count_of(runtime: Runtime, engagement_id: str) -> int:
    with runtime.db.reading() as session:
        return session.get_one(Engagement, engagement_id).evaluation_count


def test_what_a_savepoint_rolls_back_is_not_counted(runtime: Runtime, engagement_id: str) -> None:
    with runtime.db.writing() as session:
        add_at_commit(session, Engagement, engagement_id, evaluation_count=1)
        with session.begin_nested():
            add_at_commit(session, Engagement, engagement_id, evaluation_count=10)
        with suppress(ZeroDivisionError), session.begin_nested():
            add_at_commit(session, Engagement, engagement_id, evaluation_count=100)
            with session.begin_nested():
                add_at_commit(session, Engagement, engagement_id, evaluation_count=1000)
            raise ZeroDivisionError
    assert count_of(runtime, engagement_id) == 11


def test_nothing_is_counted_without_a_commit(runtime: Runtime, engagement_id: str) -> None:
    with suppress(ZeroDivisionError), runtime.db.writing() as session:
        add_at_commit(session, Engagement, engagement_id, evaluation_count=1)
        raise ZeroDivisionError
    assert count_of(runtime, engagement_id) == 0


@pytest.mark.postgresql_only("SQLite has one writer at a time")
def test_transactions_that_count_the_same_do_not_wait_for_each_other(
    runtime: Runtime, engagement_id: str
) -> None:
    with runtime.db.writing() as slow:
        add_at_commit(slow, Engagement, engagement_id, evaluation_count=1)
        with runtime.db.writing() as fast:
            add_at_commit(fast, Engagement, engagement_id, evaluation_count=1)
        assert count_of(runtime, engagement_id) == 1
    assert count_of(runtime, engagement_id) == 2


@pytest.mark.parametrize("noted", [0, 5], ids=["too low", "too high"])
def test_a_recount_corrects_the_total_and_no_upload_waits_for_it(
    runtime: Runtime, client: Caller, noted: int
) -> None:
    """Only the difference is added: what is counted meanwhile stays."""
    for _ in range(3):
        reserve(client)
    with runtime.db.writing() as session:
        # As if a host of an older version had added recordings, or deleted some.
        session.execute(delete(AudioFileTotal))
        session.add(AudioFileTotal(kind="recordings", quantity=noted))
    with runtime.db.reading() as counting:
        shortfalls = totals.recount(counting)
        # While the count is not over; a lock on the row would make this wait until it fails.
        reserve(client)
    assert shortfalls["recordings"] == 3 - noted
    with runtime.db.writing() as session:
        totals.correct(session, shortfalls)
    with runtime.db.reading() as session:
        assert totals.recordings(session) == 4
        assert set(totals.recount(session).values()) == {0}
