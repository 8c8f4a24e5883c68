"""Floods of sign-ins on real web processes: they are refused, and others are answered."""

import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.people import passwords
from app.people import service as people
from app.wiring import build_runtime
from tests.caller import send_chunked
from tests.visitor import PASSWORD, Visitor, add_user
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import ServiceProcess, answered

AT_ONCE = 40
EVERYWHERE = [f"198.18.0.{number}" for number in range(AT_ONCE)]
# The service verifies any hash by the parameters that it names: this one takes for ever.
ENDLESS_HASH = "$argon2id$v=19$m=8,t=4294967295,p=1$MDEyMzQ1Njc4OWFiY2RlZg$" + 43 * "A"


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
    with runtime.db.writing() as session:
        people.create(session, name="endless", role="viewer", password_hash=ENDLESS_HASH)
    runtime.db.engine.dispose()
    yield started
    started.end()


@dataclass
class Answer:
    """The answer to one sign-in."""

    status: int
    retry_after: str | None
    text: str


@contextmanager
def signing_in(
    service: ServiceProcess, name: str, addresses: list[str]
) -> Iterator[list[socket.socket]]:
    """Give a wrong password from each address at once; yield the connections."""
    body = f"name={name}&password=not+the+password"
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port), PATIENCE_S))
            for _ in addresses
        ]
        for connection, address in zip(connections, addresses, strict=True):
            connection.sendall(
                f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
                f"X-Forwarded-For: {address}\r\nContent-Length: {len(body)}\r\n"
                f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}".encode()
            )
        yield connections


def flood(service: ServiceProcess, addresses: list[str]) -> list[Answer]:
    """Sign in from each address with an unknown name: the hashes of these tests take no time."""
    with signing_in(service, "nobody", addresses) as connections:
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


def test_after_a_flood_from_everywhere_a_person_gives_a_password(service: ServiceProcess) -> None:
    person = Visitor(f"http://127.0.0.1:{service.port}")
    assert person.sign_in("nora").status_code == 303
    statuses = Counter(answer.status for answer in flood(service, EVERYWHERE))
    assert set(statuses) <= {401, 503}
    assert statuses[401] >= 1
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


def test_few_sign_ins_wait_while_others_are_told_to_come_back(service: ServiceProcess) -> None:
    # The last test of the module: the service would not end its hashes.
    with signing_in(service, "endless", EVERYWHERE) as connections:
        wait_until(lambda: len(answered(connections)) == AT_ONCE - passwords.SIGN_INS.count)
        assert service.health()["code"] == 200
        refused = answered(connections)
        assert len(refused) == AT_ONCE - passwords.SIGN_INS.count
        for answer in map(read, refused):
            assert (answer.status, answer.retry_after) == (503, "2")
            assert "Too many passwords are being checked" in answer.text
