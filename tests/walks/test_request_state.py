"""Request state in Redis, in the file, and across a failure of Redis."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.core.clock import utc_now
from app.core.request_limits.state import RequestState, StateStore
from app.core.request_limits.values import CallCount, Limit, Visit
from app.core.settings import Settings
from app.wiring import build_runtime
from tests.queue_server import QueueServer, running_queue_server
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.sql

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
CALL = CallCount("key_1", "2026-11-21", "list_engagements")


@pytest.fixture(scope="module")
def shared_server() -> Iterator[QueueServer]:
    with running_queue_server() as server:
        yield server


@pytest.fixture
def server(shared_server: QueueServer) -> QueueServer:
    if shared_server.process is None:
        shared_server.start()
    with shared_server.client() as client:
        client.flushall()
    return shared_server


@pytest.fixture(params=["file", "redis"])
def url(request: pytest.FixtureRequest, server: QueueServer) -> str:
    return server.url if request.param == "redis" else ""


@pytest.fixture
def state(url: str, tmp_path: Path) -> RequestState:
    return RequestState(url, tmp_path)


def store_of(state: RequestState, url: str) -> StateStore:
    name = "redis" if url else "file"
    return next(source.store for source in state.sources if source.name == name)


def counted(state: RequestState) -> dict[CallCount, int]:
    """Take what every store has counted, once and for all."""
    total: dict[CallCount, int] = {}
    for source in state.sources:
        batch = source.store.take_counts("batch")
        if batch is not None:
            for call, number in batch.calls.items():
                total[call] = total.get(call, 0) + number
            source.store.drop_counts(batch.id)
    return total


def test_a_burst_is_admitted_up_to_the_limit(state: RequestState) -> None:
    limit = Limit("default", "key_1", 5, 50)
    answers = [state.visit(Visit(now=NOW, limits=[limit], count=CALL)) for _ in range(7)]
    assert [each.admitted for each in answers] == [True] * 5 + [False] * 2
    assert [each.limits[0].remaining for each in answers] == [4, 3, 2, 1, 0, 0, 0]
    assert answers[5].limits[0].wait_s == pytest.approx(10)
    assert counted(state) == {CALL: 5}


def test_the_limit_refills_evenly(state: RequestState) -> None:
    limit = Limit("default", "key_1", 5, 50)
    for _ in range(5):
        state.visit(Visit(now=NOW, limits=[limit]))
    assert not state.visit(Visit(now=NOW + timedelta(seconds=9), limits=[limit])).admitted
    assert state.visit(Visit(now=NOW + timedelta(seconds=10), limits=[limit])).admitted
    assert not state.visit(Visit(now=NOW + timedelta(seconds=11), limits=[limit])).admitted


def test_a_costly_request_counts_as_several(state: RequestState) -> None:
    limit = Limit("default", "key_1", 5, 50, cost=3)
    admitted, denied = (state.visit(Visit(now=NOW, limits=[limit])) for _ in range(2))
    assert (admitted.admitted, admitted.limits[0].remaining) == (True, 2)
    assert not denied.admitted
    assert denied.limits[0].wait_s == pytest.approx(10)
    later = Visit(now=NOW + timedelta(seconds=50), limits=[replace(limit, cost=99)])
    assert state.visit(later).admitted


def test_a_limit_that_denies_uses_up_no_other_limit(state: RequestState) -> None:
    wide, narrow = Limit("default", "k", 10, 60), Limit("keys", "k", 1, 60)
    assert state.visit(Visit(now=NOW, limits=[wide, narrow])).admitted
    denied = state.visit(Visit(now=NOW, limits=[wide, narrow]))
    assert [each.wait_s > 0 for each in denied.limits] == [False, True]
    assert state.visit(Visit(now=NOW, limits=[wide])).limits[0].remaining == 8


def test_callers_and_policies_have_limits_of_their_own(state: RequestState) -> None:
    for caller in ("a", "b"):
        for policy in ("default", "keys"):
            visit = Visit(now=NOW, limits=[Limit(policy, caller, 1, 60)])
            assert state.visit(visit).admitted


def test_a_nonce_is_fresh_once(state: RequestState) -> None:
    visit = Visit(now=utc_now(), nonce="key_1:a", nonce_life_s=60, count=CALL)
    assert state.visit(visit).admitted
    again = state.visit(visit)
    assert not again.nonce_fresh
    assert not again.admitted
    assert counted(state) == {CALL: 1}


def test_a_batch_that_was_not_dropped_is_returned_again(state: RequestState, url: str) -> None:
    store = store_of(state, url)
    for _ in range(3):
        state.visit(Visit(now=NOW, count=CALL))
    first = store.take_counts("one")
    state.visit(Visit(now=NOW, count=CALL))
    again = store.take_counts("two")
    assert first is not None
    assert again is not None
    assert (again.id, again.calls) == (first.id, {CALL: 3})
    assert again.last_used == {"key_1": NOW}
    store.drop_counts(again.id)
    rest = store.take_counts("three")
    assert rest is not None
    assert rest.calls == {CALL: 1}


def test_an_uncounted_call_is_not_counted(state: RequestState) -> None:
    for _ in range(2):
        state.visit(Visit(now=NOW, count=CALL))
    state.uncount(CALL)
    assert counted(state) == {CALL: 1}


def test_a_new_key_version_is_seen_by_every_process(state: RequestState, url: str) -> None:
    other = RequestState(url, state._file._file.parent)
    before = state.visit(Visit(now=NOW)).key_version
    assert other.visit(Visit(now=NOW)).key_version == before
    other.new_key_version()
    assert state.visit(Visit(now=NOW)).key_version != before


def hammer(url: str, folder: Path, admitted: "multiprocessing.Queue[int]") -> None:
    state = RequestState(url, folder)
    limit = Limit("default", "key_1", 100, 1_000_000)
    visits = (state.visit(Visit(now=NOW, limits=[limit], count=CALL)) for _ in range(60))
    admitted.put(sum(each.admitted for each in visits))


def test_concurrent_processes_are_admitted_exactly_up_to_the_limit(
    url: str, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=hammer, args=(url, tmp_path, results)) for _ in range(4)]
    for process in processes:
        process.start()
    total = sum(results.get(timeout=PATIENCE_S) for _ in processes)
    for process in processes:
        process.join()
    assert total == 100
    assert counted(RequestState(url, tmp_path)) == {CALL: 100}


def test_no_request_fails_without_redis(server: QueueServer, tmp_path: Path) -> None:
    state = RequestState(server.url, tmp_path)
    limit = Limit("default", "key_1", 1000, 60)
    assert state.visit(Visit(now=NOW, limits=[limit], count=CALL)).admitted
    server.stop()
    started = time.perf_counter()
    answers = [state.visit(Visit(now=NOW, limits=[limit], count=CALL)) for _ in range(50)]
    took_s = time.perf_counter() - started
    assert all(each.admitted for each in answers)
    assert took_s < 10, "a refused connection must not be waited for"
    assert counted(state) == {CALL: 50}


def test_web_hosts_without_their_redis_divide_the_limit(
    server: QueueServer, tmp_path: Path
) -> None:
    server.stop()
    state = RequestState(server.url, tmp_path)
    state.share_limits(3)
    limit = Limit("default", "key_1", 6, 60)
    answers = [state.visit(Visit(now=NOW, limits=[limit])) for _ in range(3)]
    assert [each.admitted for each in answers] == [True, True, False]
    small = state.visit(Visit(now=NOW, limits=[Limit("default", "key_2", 1, 60)]))
    assert small.admitted


def answers_again(state: RequestState) -> None:
    """Ask, without waiting for the breaker, until the server answers in time."""
    until = time.monotonic() + PATIENCE_S
    while True:
        state._breaker._closed_again_at = 0.0
        state.visit(Visit(now=NOW))
        if not state._breaker.open:
            return
        assert time.monotonic() < until


def test_a_nonce_stays_used_when_redis_goes_away(server: QueueServer, tmp_path: Path) -> None:
    state = RequestState(server.url, tmp_path)
    visit = Visit(now=utc_now(), nonce="key_1:a", nonce_life_s=60)
    assert state.visit(visit).admitted
    server.stop()
    assert not state.visit(visit).nonce_fresh
    assert state.visit(replace(visit, nonce="key_1:b")).admitted


def test_a_nonce_used_while_redis_was_away_stays_used_when_it_is_back(
    server: QueueServer, tmp_path: Path
) -> None:
    state = RequestState(server.url, tmp_path)
    visit = Visit(now=utc_now(), nonce="key_1:a", nonce_life_s=60, count=CALL)
    server.stop()
    assert state.visit(visit).admitted
    server.start()
    answers_again(state)
    again = state.visit(visit)
    assert not again.nonce_fresh
    assert again.key_version
    assert counted(state) == {CALL: 1}


def test_hosts_that_share_redis_share_nonces(server: QueueServer, tmp_path: Path) -> None:
    visit = Visit(now=utc_now(), nonce="key_1:a", nonce_life_s=60)
    one, other = (RequestState(server.url, tmp_path / name) for name in ("one", "other"))
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    assert one.visit(visit).admitted
    assert not other.visit(visit).nonce_fresh


def test_redis_is_used_again_when_it_is_back(server: QueueServer, tmp_path: Path) -> None:
    state = RequestState(server.url, tmp_path)
    server.stop()
    state.visit(Visit(now=NOW, count=CALL))
    server.start()
    answers_again(state)
    state.visit(Visit(now=NOW, count=CALL))
    by_source = {source.name: source.store.take_counts("x") for source in state.sources}
    assert {name: batch and dict(batch.calls) for name, batch in by_source.items()} == {
        "file": {CALL: 1},
        "redis": {CALL: 1},
    }


def test_an_emptied_redis_has_a_new_key_version(server: QueueServer, tmp_path: Path) -> None:
    state = RequestState(server.url, tmp_path)
    before = state.visit(Visit(now=NOW)).key_version
    with server.client() as client:
        client.flushall()
    assert state.visit(Visit(now=NOW)).key_version != before


def test_redis_holds_the_state_only_where_hosts_may_share_it(
    make_settings: Callable[..., Settings],
) -> None:
    def sources(redis_url: str) -> list[str]:
        runtime = build_runtime(make_settings(redis_url=redis_url))
        return [source.name for source in runtime.state.sources]

    assert sources("none") == sources("unix:///run/queue.sock?db=0") == ["file"]
    assert sources("redis://queue:6379/0") == ["file", "redis"]


def test_without_the_shared_server_no_key_is_taken_from_memory(tmp_path: Path) -> None:
    state = RequestState("redis://127.0.0.1:1", tmp_path)
    versions = [state.visit(Visit(now=NOW)).key_version for _ in range(3)]
    assert len(set(versions)) == 3


def test_what_fails_in_every_request_is_logged_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state.db").mkdir()
    state = RequestState("", tmp_path)
    for _ in range(3):
        state.uncount(CALL)
    assert caplog.messages == ["a failed call stays counted: unable to open database file"]
