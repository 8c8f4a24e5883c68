"""Flushes of SQLite's log: each commit waits for one that began after it, and many share one."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.database.engine import CommitFlush
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.settings import Settings
from app.usage.models import CountedBatch
from tests.waiting import wait_until

WAITERS = 20


@pytest.fixture
def database_file(tmp_path: Path) -> str:
    (tmp_path / "cqe.db-wal").touch()
    return str(tmp_path / "cqe.db")


def wait_now(commits: CommitFlush) -> None:
    commits.wait(commits.mark())


def test_commits_that_wait_at_once_share_the_next_flush(database_file: str) -> None:
    may_end = threading.Event()
    flushes: list[int] = []

    def flush(handle: int) -> None:
        flushes.append(handle)
        assert may_end.wait(30)

    moments = count(1)
    commits = CommitFlush(database_file, flush, moments)
    with ThreadPoolExecutor(WAITERS + 1) as pool:
        first = pool.submit(wait_now, commits)
        wait_until(lambda: len(flushes) == 1)
        others = [pool.submit(wait_now, commits) for _ in range(WAITERS)]
        # The first took two moments, its own and that of its flush; each other takes one.
        wait_until(lambda: repr(moments) == f"count({WAITERS + 3})")
        assert not any(waiter.done() for waiter in (first, *others))
        may_end.set()
        for waiter in (first, *others):
            waiter.result(timeout=30)
    assert len(flushes) == 2


def test_commits_one_after_the_other_are_flushed_one_by_one(database_file: str) -> None:
    flushes: list[int] = []
    commits = CommitFlush(database_file, flushes.append)
    for _ in range(3):
        wait_now(commits)
    assert len(flushes) == 3


def test_a_disk_that_refuses_is_an_error_each_time(database_file: str) -> None:
    def flush(_: int) -> None:
        raise OSError("no space")

    commits = CommitFlush(database_file, flush)
    for _ in range(2):
        with pytest.raises(ServiceUnavailable):
            wait_now(commits)


def test_a_disk_is_quick_while_two_of_its_last_nine_flushes_were(database_file: str) -> None:
    commits = CommitFlush(database_file, lambda _: time.sleep(0.005))
    was_quick = []
    for _ in range(9):
        was_quick.append(commits.is_quick)
        wait_now(commits)
    assert was_quick == [True] * 8 + [False]


def test_without_a_log_there_is_nothing_to_flush(tmp_path: Path) -> None:
    flushes: list[int] = []
    wait_now(CommitFlush(str(tmp_path / "cqe.db"), flushes.append))
    assert flushes == []


def flushes_of(settings: Settings) -> tuple[int, int]:
    """Return the flushes of a transaction that only reads, and of one that writes."""
    flushes: list[int] = []
    db = Database(settings, lambda _: None, flush=flushes.append)
    with db.writing() as session:
        session.scalars(select(CountedBatch)).all()
    after_reading = len(flushes)
    with db.writing() as session:
        session.add(CountedBatch(id="one", source="x", applied_at=utc_now()))
    db.engine.dispose()
    return after_reading, len(flushes) - after_reading


def test_a_transaction_that_changes_something_waits_for_the_disk(
    make_settings: Callable[..., Settings],
) -> None:
    assert flushes_of(make_settings(sqlite_synchronous="FULL", database_url="")) == (0, 1)


def test_normal_does_not_wait_for_the_disk(make_settings: Callable[..., Settings]) -> None:
    assert flushes_of(make_settings(sqlite_synchronous="NORMAL", database_url="")) == (0, 0)
