"""Meter in real processes: many count, many flush, and any of them is killed at any moment."""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing.context import ForkProcess
from typing import Any

import pytest
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.request_limits.state import CountStore, RequestState
from app.core.request_limits.values import CallCount, Visit
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.usage import jobs, meter, reports
from app.usage.models import CountedBatch
from app.usage.plan import UsageMetric
from app.usage.service import count_deliveries, note_storage
from app.wiring import build_runtime
from tests.queue_server import QueueServer, running_queue_server
from tests.waiting import wait_until

PERIOD = "2026-11"
CALLS = [
    CallCount(f"key_{key}", f"2026-11-{day}", operation)
    for key in (1, 2)
    for day in (20, 21)
    for operation in ("list_engagements", "get_engagement")
]
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def shared_server() -> Iterator[QueueServer]:
    with running_queue_server() as server:
        yield server


@pytest.fixture
def server(shared_server: QueueServer) -> QueueServer:
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture(params=["file", "redis"])
def settings(
    request: pytest.FixtureRequest, server: QueueServer, make_settings: Callable[..., Settings]
) -> Settings:
    return make_settings(redis_url=server.url if request.param == "redis" else "none")


def runtime_of(settings: Settings) -> Runtime:
    """Build a runtime whose state is in Redis although that serves one host only."""
    return replace(build_runtime(settings), state=state_of(settings))


def state_of(settings: Settings) -> RequestState:
    return RequestState(settings.redis_url.replace("none", ""), settings.data_dir)


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    runtime = runtime_of(settings)
    yield runtime
    runtime.db.engine.dispose()


@pytest.fixture
def with_redis(server: QueueServer, make_settings: Callable[..., Settings]) -> Iterator[Runtime]:
    runtime = runtime_of(make_settings(redis_url=server.url))
    yield runtime
    runtime.db.engine.dispose()


def visit(state: RequestState, number: int = 1) -> None:
    for _ in range(number):
        state.visit(Visit(now=utc_now(), count=CALLS[0]))


def counted(runtime: Runtime, metric: UsageMetric = UsageMetric.CALLS) -> int:
    with runtime.db.reading() as session:
        return reports.totals(session, PERIOD)[metric]


def store_in_use(runtime: Runtime) -> CountStore:
    return runtime.state.sources[-1]


@dataclass
class Tally:
    """Requests and answers of one process, readable after its death."""

    process: ForkProcess
    asked: Any
    answered: Any


def start(run: Callable[..., None], *arguments: Any) -> Tally:
    asked, answered = FORK.RawValue("L", 0), FORK.RawValue("L", 0)
    process = FORK.Process(target=run, args=(*arguments, asked, answered), daemon=True)
    process.start()
    return Tally(process, asked, answered)


def kill(tally: Tally) -> None:
    assert tally.process.pid is not None
    os.kill(tally.process.pid, signal.SIGKILL)
    tally.process.join()


def at_work(*tallies: Tally, number: int) -> None:
    """Wait until each process has been answered so often."""
    wait_until(lambda: all(tally.answered.value >= number for tally in tallies))


def hammer(settings: Settings, number: int, asked: Any, answered: Any) -> None:
    """Count calls as a web process does."""
    state = state_of(settings)
    for _ in range(number):
        asked.value += 1
        state.visit(Visit(now=utc_now(), count=random.choice(CALLS)))
        answered.value += 1


def flush_again_and_again(settings: Settings, _: Any, flushed: Any) -> None:
    runtime = runtime_of(settings)
    while True:
        meter.flush(runtime)
        flushed.value += 1


@pytest.mark.sql
def test_killed_flushes_lose_and_repeat_nothing(runtime: Runtime, settings: Settings) -> None:
    web = [start(hammer, settings, 600) for _ in range(3)]
    flushers = [start(flush_again_and_again, settings) for _ in range(3)]
    flushes, kills = 0, 0
    while any(each.process.is_alive() for each in web) or kills < 15 or not flushes:
        time.sleep(random.uniform(0.01, 0.06))
        victim = flushers.pop(random.randrange(len(flushers)))
        kill(victim)
        flushes, kills = flushes + victim.answered.value, kills + 1
        flushers.append(start(flush_again_and_again, settings))
    for each in flushers:
        kill(each)
    meter.flush(runtime)
    assert [each.answered.value for each in web] == [600] * 3
    assert counted(runtime) == 1800


def test_killed_web_processes_lose_no_answered_call(runtime: Runtime, settings: Settings) -> None:
    flusher = start(flush_again_and_again, settings)
    web = []
    for _ in range(12):
        one, other = (start(hammer, settings, 10**6) for _ in range(2))
        at_work(one, other, number=5)
        time.sleep(random.uniform(0.0, 0.05))
        kill(one)
        kill(other)
        web += [one, other]
    kill(flusher)
    meter.flush(runtime)
    answered = sum(each.answered.value for each in web)
    in_flight = sum(each.asked.value - each.answered.value for each in web)
    assert in_flight <= len(web)
    assert answered <= counted(runtime) <= answered + in_flight


@pytest.mark.sql
def test_a_flush_killed_before_its_commit_is_repeated(runtime: Runtime) -> None:
    visit(runtime.state, 3)
    store_in_use(runtime).store.take_counts("batch_of_the_dead")
    visit(runtime.state, 2)
    assert meter.flush(runtime) == 5, "what was counted since is not left for later"
    assert counted(runtime) == 5


@pytest.mark.sql
def test_a_flush_killed_after_its_commit_is_not_repeated(runtime: Runtime) -> None:
    visit(runtime.state, 3)
    store = store_in_use(runtime).store
    batch = store.take_counts("batch_of_the_dead")
    assert batch is not None
    with runtime.db.writing() as session:
        session.add(CountedBatch(id=batch.id, source="x", applied_at=utc_now()))
    assert meter.flush(runtime) == 0
    assert store.take_counts("next") is None


@pytest.mark.sql
def test_a_late_drop_drops_no_other_batch(runtime: Runtime) -> None:
    store = store_in_use(runtime).store
    visit(runtime.state)
    store.take_counts("first")
    store.drop_counts("first")
    visit(runtime.state)
    store.take_counts("second")
    store.drop_counts("first")
    again = store.take_counts("third")
    assert again is not None
    assert (again.id, dict(again.calls)) == ("second", {CALLS[0]: 1})


def test_calls_uncounted_after_their_flush_are_subtracted(runtime: Runtime) -> None:
    visit(runtime.state)
    meter.flush(runtime)
    runtime.state.uncount(CALLS[0])
    runtime.state.uncount(CALLS[0])
    meter.flush(runtime)
    assert counted(runtime) == 0, "a record below 0 is neither shown nor summed"
    visit(runtime.state, 3)
    meter.flush(runtime)
    assert counted(runtime) == 2


@pytest.mark.sql
def test_old_batch_ids_are_deleted_except_the_newest_of_each_store(runtime: Runtime) -> None:
    now = utc_now()
    ages = [("a", "file", 9), ("b", "file", 8), ("c", "redis", 30), ("d", "other", 1)]
    with runtime.db.writing() as session:
        for name, source, days in ages:
            when = now - timedelta(days=days)
            session.add(CountedBatch(id=name, source=source, applied_at=when))
    jobs.purge_batches(runtime)
    with runtime.db.reading() as session:
        left = set(session.scalars(select(CountedBatch.id)))
    assert left == {"b", "c", "d"}


def test_an_emptied_redis_loses_only_calls_since_the_last_flush(
    server: QueueServer, with_redis: Runtime
) -> None:
    runtime = with_redis
    visit(runtime.state, 7)
    meter.flush(runtime)
    visit(runtime.state, 4)
    with server.client() as client:
        client.flushall()
    visit(runtime.state, 2)
    meter.flush(runtime)
    assert counted(runtime) == 9
    visit(runtime.state, 5)
    server.stop()
    visit(runtime.state, 3)
    # As a web host without a worker does.
    meter.flush_host(runtime)
    server.start()
    visit(RequestState(server.url, runtime.settings.data_dir), 2)
    runtime.state._breaker._closed_again_at = 0.0
    meter.flush(runtime)
    assert counted(runtime) == 9 + 3 + 2


def test_a_redis_that_hangs_counts_no_call_twice(server: QueueServer, with_redis: Runtime) -> None:
    runtime = with_redis
    visit(runtime.state, 2)
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    visit(runtime.state, 3)
    server.process.send_signal(signal.SIGCONT)
    runtime.state._breaker._closed_again_at = 0.0
    visit(runtime.state)
    meter.flush(runtime)
    assert counted(runtime) == 6


def deliver(settings: Settings, number: int, asked: Any, counted: Any) -> None:
    runtime = build_runtime(settings)
    for turn in range(number):
        asked.value += 1
        with runtime.db.writing() as session:
            count_deliveries(session, subscription_id=f"wh_{turn % 3}", now=NOW, count=1)
            note_storage(session, size_bytes=asked.value * 1_000_000, now=NOW)
        counted.value += 1


NOW = utc_now().replace(year=2026, month=11, day=21)


@pytest.mark.sql
def test_deliveries_and_storage_survive_any_kill(make_settings: Callable[..., Settings]) -> None:
    settings = make_settings()
    runtime = build_runtime(settings)
    senders = []
    for _ in range(6):
        one, other = (start(deliver, settings, 10**6) for _ in range(2))
        at_work(one, other, number=2)
        time.sleep(random.uniform(0.0, 0.05))
        kill(one)
        kill(other)
        senders += [one, other]
    done = sum(each.answered.value for each in senders)
    begun = sum(each.asked.value for each in senders)
    assert done <= counted(runtime, UsageMetric.WEBHOOKS) <= begun
    peak = counted(runtime, UsageMetric.STORAGE_GB)
    assert max(each.answered.value for each in senders) * 1_000_000 <= peak
    assert peak <= max(each.asked.value for each in senders) * 1_000_000
    runtime.db.engine.dispose()
