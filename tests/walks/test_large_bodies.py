"""Large bodies on a web process with no place to wait and no memory to spare."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.caller import Caller, error_code
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

_UP = """
import sys
from app.cli import main
from app.operations.processes import large_bodies
large_bodies._MOST_WAITING = 0
large_bodies._MOST_RESIDENT_BYTES = 0
sys.argv = ["cqe", "up", "--no-worker"]
main()
"""
SENDERS = 8
BODY = {"messages": [{"role": "customer", "text": "4 " * 9_000}] * 20}


@pytest.fixture
def service(data_dir: Path) -> Iterator[ServiceProcess]:
    started = ServiceProcess(data_dir, command=[sys.executable, "-P", "-c", _UP])
    yield started.wait_ready()
    started.end()


def test_one_is_served_the_others_are_refused_and_the_process_is_replaced(
    service: ServiceProcess,
) -> None:
    bystander = service.caller()
    before = _web_processes(service)
    together = threading.Barrier(SENDERS)
    statuses: list[int] = []

    def send(sender: int) -> None:
        client = Caller(bystander.base, bystander.api_key, bystander.secret)
        together.wait()
        answer = client.call("PUT", f"/imports/conversations/c{sender}?evaluate=false", BODY)
        if answer.status_code == 503:
            assert error_code(answer) == "SERVICE_UNAVAILABLE"
            assert int(answer.headers["Retry-After"]) >= 1
        statuses.append(answer.status_code)
        client.close()

    senders = [threading.Thread(target=send, args=(number,)) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert len(statuses) == SENDERS
    assert set(statuses) == {201, 503}
    wait_until(lambda: _web_processes(service) - before)
    assert "it has grown with large requests" in service.text
    assert bystander.get("/engagements").status_code == 200
    answer = bystander.call("PUT", "/imports/conversations/later?evaluate=false", BODY)
    assert answer.status_code == 201
    bystander.close()


def _web_processes(service: ServiceProcess) -> set[int]:
    return {pid for pid, name in service.children().items() if name == "cqe: web"}
