"""Two hosts for the tests of a file, which says what they share: the fixture `shared`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.runtime import Runtime
from app.system.queue_choice import bundled_program
from tests.caller import Caller
from tests.receiver import Receiver
from tests.waiting import wait_until
from tests.walks.service_process import free_port
from tests.walks.two_hosts.cluster import Shared, TestHost, make_caller, redis_answers


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    folder = tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen([bundled_program(), *options], stdout=subprocess.DEVNULL)
    wait_until(lambda: redis_answers(port))
    yield port
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def hosts(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[TestHost]]:
    folder = tmp_path_factory.mktemp("hosts")
    running = [TestHost(name, folder, shared) for name in ("first", "second")]
    try:
        for host in running:
            host.start()
        for host in running:
            host.wait_ready()
        yield running
    finally:
        for host in running:
            host.close()


@pytest.fixture
def pair(hosts: list[TestHost]) -> tuple[TestHost, TestHost]:
    """Both hosts, healthy: one that a former test has killed is started again."""
    for host in hosts:
        host.recover()
        if host.running.process.poll() is not None:
            host.start()
    for host in hosts:
        host.wait_ready()
    return hosts[0], hosts[1]


@pytest.fixture
def runtime(shared: Shared, tmp_path: Path) -> Iterator[Runtime]:
    """The test's own view of the database."""
    runtime = shared.runtime(tmp_path)
    yield runtime
    runtime.db.engine.dispose()


@pytest.fixture
def callers(runtime: Runtime, pair: tuple[TestHost, TestHost]) -> Iterator[tuple[Caller, Caller]]:
    """A caller of each host."""
    first, second = (make_caller(runtime, host.base) for host in pair)
    yield first, second
    first.close()
    second.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()
