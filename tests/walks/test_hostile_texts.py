"""Hostile texts over HTTP: whoever sends them, other clients are answered meanwhile."""

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from tests.caller import Caller, error_code
from tests.waiting import wait_until
from tests.walks.service_process import UP, ServiceProcess

pytestmark = pytest.mark.nightly("keeps the processors busy for half a minute")

# Each made the masking of addresses, names or numbers quadratic once, or is costly for its length.
UNITS = ("at com @ 1-1-1-", "@ aaaa", "a dot a at a ", "my name is Abc ", "1 ", "card 4 ")
TEXT_CHARS, TEXTS = 20_000, 8
SENDERS = 4
# Far above what an answer takes beside the hostile requests, and far below what they took.
MOST_S = 5.0
MOST_WEB_MIB = 250
MOST_WORKER_MIB = 400


@pytest.fixture
def service(data_dir: Path) -> Iterator[ServiceProcess]:
    started = ServiceProcess(data_dir, command=UP)
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
            while (answer := client.call("PUT", path, body)).status_code == 503:
                time.sleep(int(answer.headers["Retry-After"]))
            answers.append(answer.status_code)
        client.close()

    senders = [threading.Thread(target=send, args=(each,)) for each in range(SENDERS)]
    for each in senders:
        each.start()
    waits = []
    while any(each.is_alive() for each in senders):
        begun = time.monotonic()
        assert bystander.get("/engagements").status_code == 200
        waits.append(time.monotonic() - begun)
        time.sleep(0.1)
    assert set(answers) == {201}
    assert len(answers) == SENDERS * len(UNITS)
    assert max(waits) < MOST_S
    # The evaluations of all of them are made as well.
    wait_until(lambda: _ended(bystander) == len(answers))
    bystander.close()


def test_large_bodies_wait_for_each_other_and_not_for_long(service: ServiceProcess) -> None:
    bystander = service.caller()
    text = ("my name is Bob, my card 4 1 1 1 " + "4 " * TEXT_CHARS)[: TEXT_CHARS - 100]
    body = {"messages": [{"role": "customer", "text": text}] * 20}
    answers: list[requests.Response] = []

    def send(sender: int) -> None:
        client = Caller(bystander.base, bystander.api_key, bystander.secret)
        answers.append(client.call("PUT", f"/imports/conversations/c{sender}?evaluate=false", body))
        client.close()

    senders = [threading.Thread(target=send, args=(each,)) for each in range(12)]
    for each in senders:
        each.start()
    waits = []
    while any(each.is_alive() for each in senders):
        begun = time.monotonic()
        assert bystander.get("/engagements").status_code == 200
        assert service.health()["code"] == 200
        waits.append(time.monotonic() - begun)
        time.sleep(0.1)
    assert max(waits) < MOST_S
    refused = [answer for answer in answers if answer.status_code == 503]
    assert {answer.status_code for answer in answers} <= {201, 503}
    for answer in refused:
        assert error_code(answer) == "SERVICE_UNAVAILABLE"
        assert int(answer.headers["Retry-After"]) >= 1
    # A process that has grown is replaced.
    wait_until(lambda: _web_memory_mib(service) < MOST_WEB_MIB)
    assert bystander.get("/engagements").status_code == 200
    bystander.close()


def test_a_file_of_many_values_takes_little_memory(service: ServiceProcess) -> None:
    client = service.caller()
    content = b"[" + b"{}," * 11_000_000 + b"{}]"
    body = {"fileName": "march.json", "format": "contact_lens", "sizeBytes": len(content)}
    reserved = client.post("/imports/files/upload-url", body).json()["data"]
    requests.put(reserved["uploadUrl"], data=content, headers=reserved["headers"], timeout=60)
    sizes = [0.0]
    path = f"/imports/{reserved['importId']}"
    while (shown := client.get(path).json()["data"])["status"] in ("queued", "running"):
        sizes += _peaks_mib(service, "cqe: imports")
        time.sleep(0.05)
    [error] = shown["errors"]
    assert (error["code"], "names and values" in error["message"]) == ("MALFORMED", True)
    assert 0 < max(sizes) < MOST_WORKER_MIB
    client.close()


def _peaks_mib(service: ServiceProcess, name: str) -> list[float]:
    """Return the most memory that each process of this name has had so far."""
    peaks = []
    for pid, short_name in service.children().items():
        if short_name == name:
            with suppress(OSError):
                # A process that ends has no such line.
                peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
                peaks += [int(peak[1]) / 1024] if peak else []
    return peaks


def _web_memory_mib(service: ServiceProcess) -> float:
    """Return the memory of the largest web process."""
    sizes = [0.0]
    for pid, name in service.children().items():
        if name == "cqe: web":
            with suppress(OSError):
                pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
                sizes.append(int(pages) * os.sysconf("SC_PAGE_SIZE") / 1024**2)
    return max(sizes)


def _ended(client: Caller) -> int:
    counts = (
        client.get(f"/evaluations?status={status}").json()["pagination"]["totalCount"]
        for status in ("completed", "failed")
    )
    return sum(counts)
