"""Hostile texts over HTTP: whoever sends them, other clients are answered meanwhile."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.caller import Caller
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

# Each made the masking of addresses, names or numbers quadratic once, or is costly for its length.
UNITS = ("at com @ 1-1-1-", "@ aaaa", "a dot a at a ", "my name is Abc ", "1 ", "card 4 ")
TEXT_CHARS, TEXTS = 20_000, 8
SENDERS = 4
# Far above what an answer takes beside the hostile requests, and far below what they took.
MOST_S = 5.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    started = ServiceProcess(tmp_path / "instance")
    yield started.wait_ready()
    started.end()


def test_bystanders_are_answered_beside_hostile_messages(service: ServiceProcess) -> None:
    bystander = service.caller()
    answers: list[int] = []

    def send(sender: int) -> None:
        client = Caller(bystander.base, bystander.api_key, bystander.secret)
        for place, unit in enumerate(UNITS):
            text = (unit * TEXT_CHARS)[:TEXT_CHARS]
            body = {"messages": [{"role": "customer", "text": text}] * TEXTS}
            path = f"/imports/conversations/hostile-{sender}-{place}?evaluate=true"
            answers.append(client.call("PUT", path, body).status_code)
        client.close()

    senders = [threading.Thread(target=send, args=(each,)) for each in range(SENDERS)]
    for each in senders:
        each.start()
    waits = []
    while any(each.is_alive() for each in senders):
        begun = time.monotonic()
        assert bystander.get("/engagements").status_code == 200
        waits.append(time.monotonic() - begun)
    assert set(answers) == {201}
    assert len(answers) == SENDERS * len(UNITS)
    assert max(waits) < MOST_S
    # The evaluations of all of them are made as well.
    wait_until(lambda: _ended(bystander) == len(answers))
    bystander.close()


def _ended(client: Caller) -> int:
    counts = (
        client.get(f"/evaluations?status={status}").json()["pagination"]["totalCount"]
        for status in ("completed", "failed")
    )
    return sum(counts)
