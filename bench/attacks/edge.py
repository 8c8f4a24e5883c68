"""Attacks on the sign-in, on limits by address, and on what answers before the application."""

import json
import math
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

from app.api_keys.credentials import KeyPair
from app.core.runtime import Runtime
from bench.attacks.row import Row
from bench.service import (
    SERVICE_OPTIONS,
    Signer,
    environment_of,
    new_key,
    new_runtime,
    serving,
)
from tests.visitor import PASSWORD, Visitor, add_user

_AT_ONCE, _ROUNDS = 60, 5
_EVERY_S = 0.02
_SOON_S = 0.3
_TIMEOUT_S = 30
_PEOPLE = ("nora", "tom", "eve")
_HEALTH = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


def rows(folder: Path) -> Iterator[Row]:
    """Attack a service that believes X-Forwarded-For, so that one machine has many addresses."""
    runtime = new_runtime(folder / "instance", redis_url="none")
    key = new_key(runtime)
    for name in _PEOPLE:
        add_user(runtime, "admin", name)
    environment = environment_of(
        runtime.settings.data_dir, CQE_REDIS_URL="none", CQE_TRUSTED_PROXIES="127.0.0.1/32"
    )
    with serving("wsgi:app", environment, *SERVICE_OPTIONS) as (port, _):
        yield from sign_ins_at_once(port, key)
        yield stranger_and_confirmation(port)
        yield stranger_and_name(port)
        yield sign_ins_of_a_network(port)
        yield keys_of_a_network(port)
        yield long_names(port, runtime)
        yield foreign_host(port)
        yield unreadable_requests(port)


def sign_ins_at_once(port: int, key: KeyPair) -> Iterator[Row]:
    form = b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n"
    # Each process has served both once before it is measured.
    for number in range(_ROUNDS):
        _send_at_once(port, [form] * _AT_ONCE)
        _send_at_once(port, [_wrong(f"198.19.{200 + number}.1") for _ in range(_AT_ONCE)])
    control_s = _slowest_of_others(port, key, lambda _: [form] * _AT_ONCE)
    crowds: dict[str, Callable[[int], list[bytes]]] = {
        "one address": lambda turn: [_wrong(f"198.51.100.{turn}") for _ in range(_AT_ONCE)],
        "as many addresses": lambda turn: [
            _wrong(f"198.18.{turn}.{place}") for place in range(_AT_ONCE)
        ],
    }
    for origin, crowd in crowds.items():
        attack_s = _slowest_of_others(port, key, crowd)
        yield Row(
            f"{_AT_ONCE} wrong sign-ins at once from {origin}",
            f"slowest of other requests {attack_s:.2f} s",
            f"{control_s:.2f} s beside {_AT_ONCE} times the form",
            f"{_SOON_S} s, or the control on a busy machine",
            attack_s < max(_SOON_S, control_s),
        )


def stranger_and_confirmation(port: int) -> Row:
    nora = _Person(port, "nora", "203.0.113.1")
    control = nora.confirm()
    _send_at_once(port, [_wrong("198.51.100.50", "nora") for _ in range(20)])
    answers = [nora.confirm() for _ in range(5)]
    return Row(
        "a stranger gives wrong passwords for a person who gives theirs again",
        f"confirmed {answers.count(303)} of {len(answers)}",
        f"{int(control == 303)} of 1 without the stranger",
        "all",
        answers.count(303) == len(answers),
    )


def stranger_and_name(port: int) -> Row:
    known = _Person(port, "tom", "203.0.113.2")
    control = known.sign_in()
    _send_at_once(port, [_wrong(known.address, "tom") for _ in range(20)])
    same, elsewhere = known.sign_in(), _Person(port, "tom", "203.0.113.3").status
    return Row(
        "a stranger gives 20 wrong passwords for a name, also from the person's own address",
        f"known browser {same}, another address {elsewhere}",
        f"{control} without the stranger",
        "303 and 303",
        (same, elsewhere) == (303, 303),
    )


def sign_ins_of_a_network(port: int) -> Row:
    addresses = [f"2001:db8:1:1::{number:x}" for number in range(1, 91)]
    spread = [f"198.20.{number}.1" for number in range(90)]
    control = _answered(port, [_wrong(address) for address in spread], not_status=429)
    passed = _answered(port, [_wrong(address) for address in addresses], not_status=429)
    return Row(
        "90 sign-ins from addresses of one /64",
        f"{passed} reached the password",
        f"{control} from as many IPv4 addresses",
        "at most 15",
        passed <= 15,
    )


def keys_of_a_network(port: int) -> Row:
    def request(address: str) -> bytes:
        return (
            f"GET /api/v1/usage HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: wrong\r\n"
            f"X-Forwarded-For: {address}\r\n\r\n"
        ).encode()

    addresses = [f"2001:db8:2:1::{number:x}" for number in range(1, 100)]
    spread = [f"198.19.{number}.1" for number in range(99)]
    control = _answered(port, [request(address) for address in spread], not_status=429)
    passed = _answered(port, [request(address) for address in addresses], not_status=429)
    return Row(
        "99 wrong keys from addresses of one /64",
        f"{passed} were looked at",
        f"{control} from as many IPv4 addresses",
        "at most 65",
        passed <= 65,
    )


def long_names(port: int, runtime: Runtime) -> Row:
    def grown_bytes(size_bytes: int, network: str) -> int:
        before = _stored_bytes(runtime)
        for number in range(45):
            name = secrets.token_hex(size_bytes // 2)
            _send_at_once(port, [_wrong(f"198.51.{network}.{number}", name)])
        return _stored_bytes(runtime) - before

    control = grown_bytes(32, "101")
    attack = grown_bytes(1_000_000, "102")
    return Row(
        "45 sign-ins with names of 1 MB",
        f"request state grew by {attack / 1e6:.2f} MB",
        f"{control / 1e6:.2f} MB with names of 32 characters",
        "0.5 MB",
        attack < 500_000,
    )


def foreign_host(port: int) -> Row:
    form = {"name": "eve", "password": PASSWORD}
    answers = {
        host: _send_at_once(port, [_post("/sign-in", form, host, "203.0.113.9")])[0].status
        for host in (f"localhost:{port}", "rebound.example")
    }
    control, foreign = answers.values()
    return Row(
        "a sign-in under a foreign Host (DNS rebinding)",
        f"status {foreign}",
        f"{control} under localhost",
        "400",
        foreign == 400,
    )


def unreadable_requests(port: int) -> Row:
    host = b"Host: localhost\r\n"
    requests = [
        b"GET /health?" + b"a" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        b"GET /health HTTP/1.1\r\nX-Long: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        b"nonsense\r\n\r\n",
    ]
    answers = _send_at_once(port, requests)
    in_envelope = sum(answer.is_envelope for answer in answers)
    control = _send_at_once(port, [b"GET /api/v1/none HTTP/1.1\r\n" + host + b"\r\n"])
    return Row(
        "requests that the web server cannot read",
        f"{', '.join(str(answer.status) for answer in answers)}: {in_envelope} in the envelope",
        f"{sum(answer.is_envelope for answer in control)} of 1 of the application",
        "all",
        in_envelope == len(answers),
    )


@dataclass
class _Answer:
    """The answer to one request; status 0 without one."""

    status: int = 0
    body: bytes = b""

    @property
    def is_envelope(self) -> bool:
        with suppress(ValueError, TypeError):
            return {"code", "message", "requestId"} <= set(json.loads(self.body)["error"])
        return False


@dataclass
class _Person:
    """A person in a browser at one address, who has signed in."""

    port: int
    name: str
    address: str
    visitor: Visitor = field(init=False)
    status: int = 0

    def __post_init__(self) -> None:
        self.visitor = Visitor(f"http://127.0.0.1:{self.port}")
        self.status = self.sign_in()

    def sign_in(self) -> int:
        form, forwarded = (
            {"name": self.name, "password": PASSWORD},
            {"X-Forwarded-For": self.address},
        )
        answer = self.visitor.post("/sign-in", form, forwarded)
        self.visitor.get("/settings", forwarded)
        return int(answer.status_code)

    def confirm(self) -> int:
        forwarded = {"X-Forwarded-For": self.address}
        return int(self.visitor.post("/confirm", {"password": PASSWORD}, forwarded).status_code)


def _wrong(address: str, name: str = "") -> bytes:
    form = {"name": name or secrets.token_hex(8), "password": "not the password"}
    return _post("/sign-in", form, "localhost", address)


def _post(path: str, form: dict[str, str], host: str, address: str) -> bytes:
    body = urlencode(form).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        f"X-Forwarded-For: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def _slowest_of_others(port: int, key: KeyPair, crowd: Callable[[int], list[bytes]]) -> float:
    """Return the slowest of the requests that others send while crowds come, one after the other."""
    signed = Signer(key)
    ended = threading.Event()
    seconds: list[float] = []

    def ask() -> None:
        while not ended.wait(_EVERY_S):
            for request in (_HEALTH, signed("GET", "/api/v1/engagements")):
                began_at = time.perf_counter()
                is_answered = _ask(port, request).status == 200
                seconds.append(time.perf_counter() - began_at if is_answered else math.inf)

    other = threading.Thread(target=ask)
    other.start()
    try:
        for number in range(_ROUNDS):
            _send_at_once(port, crowd(number))
            time.sleep(0.5)
    finally:
        ended.set()
        other.join()
    return max(seconds)


def _answered(port: int, requests: Sequence[bytes], *, not_status: int) -> int:
    """Send them one after the other; return how many were answered otherwise."""
    return sum(_ask(port, request).status not in (0, not_status) for request in requests)


def _send_at_once(port: int, requests: Sequence[bytes]) -> list[_Answer]:
    """Send all requests over connections of their own; return the answers in the same order."""
    answers = [_Answer() for _ in requests]
    with selectors.DefaultSelector() as selector:
        for request, answer in zip(requests, answers, strict=True):
            connection = socket.create_connection(("127.0.0.1", port), _TIMEOUT_S)
            selector.register(connection, selectors.EVENT_READ, (connection, answer))
            with suppress(OSError):
                connection.sendall(request)
        ends_at = time.monotonic() + _TIMEOUT_S
        while selector.get_map() and time.monotonic() < ends_at:
            for ready, _ in selector.select(_TIMEOUT_S):
                connection, answer = ready.data
                selector.unregister(connection)
                _read(connection, answer)
                connection.close()
    return answers


def _ask(port: int, request: bytes) -> _Answer:
    return _send_at_once(port, [request])[0]


def _read(connection: socket.socket, answer: _Answer) -> None:
    with suppress(OSError, ValueError):
        response = HTTPResponse(connection)
        response.begin()
        answer.status, answer.body = response.status, response.read()


def _stored_bytes(runtime: Runtime) -> int:
    return sum(file.stat().st_size for file in runtime.settings.data_dir.glob("state.db*"))
