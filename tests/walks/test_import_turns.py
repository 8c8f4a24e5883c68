"""Imports that last let others in, while a service with one worker for imports goes on."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.caller import Caller
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

HEADER = "conversation_id,role,text\n"
ROW = "{},customer,Where is my parcel {}? It was to come on Monday and I am still waiting.\n"
# Takes minutes.
ROWS = 300_000
# A turn is five seconds.
TWO_TURNS_S = 10
SOON_S = 60


@pytest.fixture
def service(data_dir: Path) -> Iterator[ServiceProcess]:
    started = ServiceProcess(
        data_dir,
        CQE_WORKER_PROCESSES="1",
        CQE_RATE_LIMIT_DEFAULT="1000000/60",
    )
    yield started.wait_ready()
    started.end()


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Caller]:
    caller = service.caller()
    yield caller
    caller.close()


def long_import(client: Caller, name: str) -> str:
    """Begin an import that takes minutes; return its path."""
    rows = (ROW.format(f"{name}-{number // 10}", number) for number in range(ROWS))
    return uploaded(client, name, (HEADER + "".join(rows)).encode())


def uploaded(client: Caller, name: str, data: bytes) -> str:
    """Begin an import of a table; return its path."""
    body = {"fileName": f"{name}.csv", "sizeBytes": len(data), "evaluate": False}
    reserved = client.post("/imports/files/upload-url", body).json()["data"]
    sent = requests.put(reserved["uploadUrl"], data=data, headers=reserved["headers"], timeout=60)
    assert sent.status_code == 201
    return f"/imports/{reserved['importId']}"


def short_import(client: Caller, name: str) -> str:
    """Queue an import of one conversation; return its path."""
    item = {"externalId": name, "messages": [{"role": "agent", "text": "Hello."}]}
    body = {"format": "native", "items": [item], "evaluate": False}
    return f"/imports/{client.post('/imports', body).json()['data']['id']}"


def shown(client: Caller, path: str) -> dict[str, Any]:
    return dict(client.get(path).json()["data"])


def has_completed(client: Caller, path: str) -> bool:
    return bool(shown(client, path)["status"] == "completed")


def received(client: Caller, path: str) -> int:
    return int(shown(client, path)["counts"]["received"])


@pytest.mark.nightly("keeps a processor busy for half a minute")
@pytest.mark.parametrize("line", ["x,customer,Hello.\n", "x,y,z,more,cells\n"], ids=["one", "odd"])
def test_lines_that_are_no_record_let_others_in(
    service: ServiceProcess, client: Caller, line: str
) -> None:
    """Millions of rows of one conversation, or of none, are read in turns as well."""
    data = (HEADER + line * (90_000_000 // len(line))).encode()
    long = uploaded(client, "lines", data)
    wait_until(lambda: shown(client, long)["status"] == "running")
    for name in ("first", "second"):
        short = short_import(client, name)
        begun = time.monotonic()
        wait_until(partial(has_completed, client, short))
        assert time.monotonic() - begun < SOON_S
    assert (shown(client, long)["status"], received(client, long)) == ("running", 0)


@pytest.mark.nightly("keeps a processor busy for half a minute")
def test_a_short_import_does_not_wait_for_long_ones(
    service: ServiceProcess, client: Caller
) -> None:
    first = long_import(client, "first")
    wait_until(lambda: received(client, first) > 0)
    second = long_import(client, "second")
    # The other long import has its turn, and then waits until the first has ended.
    wait_until(lambda: received(client, second) > 0)
    time.sleep(TWO_TURNS_S)
    short = short_import(client, "short")
    begun = time.monotonic()
    wait_until(lambda: shown(client, short)["status"] == "completed")
    assert time.monotonic() - begun < SOON_S
    had, other_had = received(client, first), received(client, second)
    assert shown(client, second)["status"] == "queued"
    # Both at work in one process: it is killed, and another goes on with one of them.
    os.kill(service.child("cqe: imports"), signal.SIGKILL)
    wait_until(lambda: received(client, first) + received(client, second) > had + other_had)
    assert received(client, first) >= had
    assert received(client, second) >= other_had
    again = short_import(client, "again")
    wait_until(lambda: shown(client, again)["status"] == "completed")
    counts = shown(client, first)["counts"]
    assert (counts["failed"], counts["skipped"]) == (0, 0)
    assert counts["created"] == counts["received"]
