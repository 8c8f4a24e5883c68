"""Floods of sign-ins on real web processes: they are refused, and others are answered."""

import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.wiring import build_runtime
from tests.caller import send_chunked
from tests.visitor import PASSWORD, Visitor, add_user
from tests.walks.service_process import ServiceProcess

AT_ONCE = 40
# Far longer than an answer takes, and shorter than the flood would hold the only thread.
SOON_S = 5.0


@pytest.fixture(scope="module")
def service(module_data_dir: Path) -> Iterator[ServiceProcess]:
    """A service with one web process of one thread, behind a proxy."""
    started = ServiceProcess(
        module_data_dir,
        "up",
        "--no-worker",
        CQE_WORKERS="1",
        CQE_THREADS="1",
        CQE_TRUSTED_PROXIES="127.0.0.1/32",
    )
    started.wait_ready()
    runtime = build_runtime(Settings(data_dir=started.data_dir, redis_url="none"))
    add_user(runtime, "admin", "nora")
    runtime.db.engine.dispose()
    yield started
    started.end()


@dataclass
class Answer:
    """The answer to one sign-in."""

    status: int
    retry_after: str | None
    text: str


def flood(service: ServiceProcess, addresses: list[str]) -> list[Answer]:
    """Give a wrong password from each address at once."""
    # An unknown name: the hashes of these tests take no time.
    body = "name=nobody&password=not+the+password"
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port), 60))
            for _ in addresses
        ]
        for connection, address in zip(connections, addresses, strict=True):
            connection.sendall(
                f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
                f"X-Forwarded-For: {address}\r\nContent-Length: {len(body)}\r\n"
                f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode()
            )
        return [read(connection) for connection in connections]


def read(connection: socket.socket) -> Answer:
    answer = HTTPResponse(connection)
    answer.begin()
    return Answer(answer.status, answer.headers["Retry-After"], answer.read().decode())


def test_one_address_gets_ten_attempts_at_once(service: ServiceProcess) -> None:
    began_at = time.monotonic()
    answers = flood(service, ["198.51.100.1"] * AT_ONCE)
    refilled = int(time.monotonic() - began_at) + 1
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {401, 429, 503}
    assert statuses[401] >= 1
    assert AT_ONCE - statuses[429] <= 10 + refilled


def test_of_sign_ins_from_everywhere_few_wait_and_the_others_are_told_to_come_back(
    service: ServiceProcess,
) -> None:
    person = Visitor(f"http://127.0.0.1:{service.port}")
    assert person.sign_in("nora").status_code == 303
    slowest_s = 0.0
    with ThreadPoolExecutor(1) as background:
        flooding = background.submit(
            flood, service, [f"198.18.0.{number}" for number in range(AT_ONCE)]
        )
        while not flooding.done():
            began_at = time.monotonic()
            assert service.health()["code"] == 200
            slowest_s = max(slowest_s, time.monotonic() - began_at)
        answers = flooding.result()
    assert slowest_s < SOON_S
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) == {401, 503}
    for answer in answers:
        if answer.status == 503:
            assert answer.retry_after == "2"
            assert "Too many passwords are being checked" in answer.text
    assert person.post("/confirm", {"password": PASSWORD}).status_code == 303


def test_a_form_to_sign_in_without_a_length_is_refused(service: ServiceProcess) -> None:
    base = f"http://127.0.0.1:{service.port}"
    headers = {
        "Origin": base,
        "Accept": "application/json",
        "Sec-Fetch-Dest": "empty",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    body = b"name=nora&password=" + b"x" * 17_000
    answer = send_chunked("POST", f"{base}/sign-in", headers, body)
    assert answer == (411, "LENGTH_REQUIRED")
