"""A disk that confirms nothing, or late: a real web process answers only what the disk has."""

import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests

from app.core.database.session import Database
from app.core.settings import Settings
from app.factory import create_app
from app.operations.processes.web import serve
from app.web.current import runtime_of
from app.wiring import build_runtime
from tests.caller import Caller, error_code
from tests.conftest import caller_of
from tests.sender_process import environment_of
from tests.waiting import wait_until
from tests.web_process import WebProcess

pytestmark = pytest.mark.sqlite_only("PostgreSQL waits for its own disk")
CALLERS = 6
LARGE_BYTES = 200_000
ENGAGEMENT = {"name": "One", "type": "inbound_support"}


class Disk:
    """A disk as a folder describes it: with `stalled` in it, it waits; with `broken`, it fails."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def becomes(self, word: str) -> None:
        (self._folder / word).touch()

    def clear(self, word: str) -> None:
        (self._folder / word).unlink()

    def is_waited_for(self) -> bool:
        return (self._folder / "waited-for").exists()

    def flush(self, handle: int) -> None:
        if (self._folder / "broken").exists():
            raise OSError(errno.EIO, "no disk")
        while (self._folder / "stalled").exists():
            (self._folder / "waited-for").touch()
            time.sleep(0.01)
        os.fdatasync(handle)


def serve_on_test_disk(listener: socket.socket) -> None:
    """Serve as usual, on such a disk; `/large` has changed something, `/slow` waits for a file."""
    settings = Settings.from_env(os.environ)
    folder = settings.data_dir / "disk"
    runtime = build_runtime(settings)
    db = Database(settings, runtime.doorbell.ring, runtime.hooks, flush=Disk(folder).flush)
    app = create_app(settings, replace(runtime, db=db))

    @app.get("/large")
    def large() -> bytes:
        caller_of(runtime_of(app), "")
        return bytes(LARGE_BYTES)

    @app.get("/slow")
    def slow() -> str:
        wait_until((folder / "go-on").exists)
        return "done"

    serve(app, settings, listener.fileno())


@dataclass
class Service:
    """A running service: its only web process, its disk and callers with a connection each."""

    web: WebProcess
    disk: Disk
    folder: Path
    new_caller: Callable[[], Caller]

    def names(self) -> list[str]:
        listed = self.new_caller().get("/engagements").json()["data"]
        return [each["name"] for each in listed]


@pytest.fixture
def service(
    make_settings: Callable[..., Settings], make_caller: Callable[..., Caller], tmp_path: Path
) -> Iterator[Service]:
    settings = make_settings(sqlite_synchronous="FULL")
    folder = settings.data_dir / "disk"
    folder.mkdir()
    environment = environment_of(settings, CQE_WORKERS="1", CQE_SQLITE_SYNCHRONOUS="FULL")
    web = WebProcess(environment, tmp_path / "web.log", serve_on_test_disk)
    first = caller_of(build_runtime(settings), web.base)

    def new_caller() -> Caller:
        return Caller(web.base, first.api_key, first.secret)

    wait_until(lambda: bool(web.workers()))
    assert new_caller().get("/engagements").status_code == 200
    yield Service(web, Disk(folder), folder, new_caller)
    web.kill()


def create(caller: Caller) -> requests.Response:
    return caller.post("/engagements", ENGAGEMENT)


def test_no_answer_comes_before_the_disk_confirms_and_others_are_served(service: Service) -> None:
    service.disk.becomes("stalled")
    with ThreadPoolExecutor(CALLERS) as pool:
        answers = [pool.submit(create, service.new_caller()) for _ in range(CALLERS)]
        wait_until(service.disk.is_waited_for)
        # All are committed; their answers wait.
        wait_until(lambda: len(service.names()) == CALLERS)
        assert not any(answer.done() for answer in answers)
        service.disk.clear("stalled")
        assert [answer.result(30).status_code for answer in answers] == [201] * CALLERS


def test_a_held_answer_does_not_wait_for_a_slow_request(service: Service) -> None:
    [worker] = service.web.workers()
    first, second = service.new_caller(), service.new_caller()
    for caller in (first, second):
        caller.get("/engagements")
    with ThreadPoolExecutor(2) as pool:
        # What arrives on open connections while the process is halted is served in one round.
        os.kill(worker, signal.SIGSTOP)
        held = pool.submit(create, first)
        time.sleep(0.2)
        slow = pool.submit(second.plain, "GET", "/slow")
        time.sleep(0.2)
        os.kill(worker, signal.SIGCONT)
        assert held.result(30).status_code == 201
        assert service.names() == ["One"]
        assert not slow.done()
        (service.folder / "go-on").touch()
        assert slow.result(30).text == "done"


def test_a_change_that_the_disk_refuses_is_refused(service: Service) -> None:
    service.disk.becomes("broken")
    with ThreadPoolExecutor(CALLERS) as pool:
        callers = [service.new_caller() for _ in range(CALLERS)]
        for answer in pool.map(create, callers):
            assert (answer.status_code, error_code(answer)) == (503, "SERVICE_UNAVAILABLE")
            assert answer.json()["error"]["requestId"] == answer.headers["X-Request-Id"]
            assert "check whether it was made" in answer.json()["error"]["message"]
        service.disk.clear("broken")
        assert [create(caller).status_code for caller in callers] == [201] * CALLERS
    # As the refusals say, the changes may have been made.
    assert len(service.names()) == 2 * CALLERS


def test_nothing_of_a_large_answer_is_sent_before_its_change_is_confirmed(
    service: Service,
) -> None:
    address = f"{service.web.base}/large"
    assert len(requests.get(address, timeout=30).content) == LARGE_BYTES
    service.disk.becomes("broken")
    answer = requests.get(address, timeout=30)
    assert (answer.status_code, error_code(answer)) == (503, "SERVICE_UNAVAILABLE")
    service.disk.clear("broken")
    assert len(requests.get(address, timeout=30).content) == LARGE_BYTES


@pytest.mark.parametrize(
    "ask",
    [
        lambda caller: caller.post("/engagements", ENGAGEMENT, headers={"Idempotency-Key": "one"}),
        lambda caller: caller.call("PUT", "/imports/executives/one", {"name": "One"}),
    ],
    ids=["repeated", "unchanged"],
)
def test_what_is_stored_already_is_not_told_before_the_disk_confirms_it(
    service: Service, ask: Callable[[Caller], requests.Response]
) -> None:
    service.disk.becomes("stalled")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, service.new_caller())
        wait_until(service.disk.is_waited_for)
        again = pool.submit(ask, service.new_caller())
        wait([again], timeout=1)
        assert not first.done()
        assert not again.done()
        service.disk.clear("stalled")
        assert first.result(30).status_code == 201
        assert again.result(30).status_code in (200, 201)
        assert again.result(30).json()["data"] == first.result(30).json()["data"]
