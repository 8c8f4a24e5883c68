"""Limits of sign-ins over HTTP: strangers use up their own attempts, and store nothing of any size."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_network

import pytest
import time_machine

from app.core.clock import utc_now
from tests.running import running_runtime
from tests.visitor import PASSWORD, Visitor, add_user

STRANGER, HOME = "198.51.100.1", "203.0.113.1"


class FarVisitor(Visitor):
    """A visitor from another address, as a proxy says."""

    def __init__(self, base: str, address: str) -> None:
        super().__init__(base)
        self.address = address

    def _send(self, method: str, path: str, headers: dict[str, str], **more: object) -> object:
        return super()._send(method, path, {**headers, "X-Forwarded-For": self.address}, **more)

    def fail(self, name: str = "nora", times: int = 1) -> list[int]:
        """Give wrong passwords; return the statuses."""
        return [self.sign_in(name, "not the password").status_code for _ in range(times)]


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    """A service behind a proxy, with the admin nora."""
    address = serve(trusted_proxies=(ip_network("127.0.0.0/8"),))
    add_user(running_runtime(), "admin", "nora")
    return address


@pytest.fixture
def nora(base: str) -> FarVisitor:
    """Nora at home, signed in."""
    visitor = FarVisitor(base, HOME)
    assert visitor.sign_in("nora").status_code == 303
    return visitor


@pytest.fixture
def still() -> Iterator[time_machine.Traveller]:
    """No attempt is refilled."""
    with time_machine.travel(utc_now(), tick=False) as traveller:
        yield traveller


def test_a_stranger_locks_no_name_for_others(base: str, still: object) -> None:
    assert FarVisitor(base, STRANGER).fail(times=11) == [401] * 10 + [429]
    assert FarVisitor(base, HOME).sign_in("nora").status_code == 303


def test_a_known_browser_has_attempts_of_its_own(
    nora: FarVisitor, still: time_machine.Traveller
) -> None:
    assert FarVisitor(nora.base, HOME).fail(times=12)[-1] == 429
    assert nora.sign_in("nora").status_code == 303
    assert nora.fail(times=10) == [401] * 9 + [429]
    still.shift(timedelta(minutes=1))
    assert nora.fail(times=2) == [401, 429]


def test_a_known_browser_is_known_to_one_name_alone(nora: FarVisitor, still: object) -> None:
    add_user(running_runtime(), "viewer", "tom")
    assert FarVisitor(nora.base, HOME).fail("tom", 11)[-1] == 429
    assert nora.sign_in("tom").status_code == 429
    stranger = FarVisitor(nora.base, STRANGER)
    stranger.known = nora.known[:-1] + ("A" if nora.known[-1] != "A" else "B")
    assert stranger.fail(times=11)[-1] == 429


def test_a_known_browser_is_forgotten_after_half_a_year(nora: FarVisitor) -> None:
    with time_machine.travel(utc_now() + timedelta(days=181), tick=False):
        assert FarVisitor(nora.base, HOME).fail(times=11)[-1] == 429
        assert nora.sign_in("nora").status_code == 429


def test_no_stranger_keeps_a_session_from_its_own_forms(nora: FarVisitor, still: object) -> None:
    for address in (STRANGER, HOME):
        FarVisitor(nora.base, address).fail(times=20)
    assert nora.post("/confirm", {"password": PASSWORD}).status_code == 303
    form = {"current": PASSWORD, "new": "nine small birds", "repeated": "nine small birds"}
    assert nora.post("/settings/password", form).status_code == 303


def test_the_forms_of_a_session_have_a_limit(nora: FarVisitor, still: object) -> None:
    answers = [nora.post("/confirm", {"password": "wrong"}) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert answers[-1].headers["Retry-After"] == "60"
    assert nora.post("/settings/password", {"current": PASSWORD}).status_code == 429


def test_an_address_may_try_ten_times_at_once(base: str, still: time_machine.Traveller) -> None:
    stranger = FarVisitor(base, STRANGER)
    statuses = [stranger.fail(f"name{number}")[0] for number in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    still.shift(timedelta(seconds=1))
    assert [stranger.fail(f"late{number}")[0] for number in range(2)] == [401, 429]


def test_addresses_of_one_network_count_as_one(base: str, still: object) -> None:
    def passed(networks: list[str]) -> int:
        visitors = [
            FarVisitor(base, f"{network}::{n:x}") for network in networks for n in range(12)
        ]
        return sum(
            visitor.fail(f"name{number}") == [401] for number, visitor in enumerate(visitors)
        )

    assert passed(["2001:db8:1:1"]) == 10
    # A /48 has four times as much, of which the /64 has used a quarter.
    assert passed([f"2001:db8:1:{number}" for number in range(2, 7)]) == 30
    assert passed(["2001:db8:2:1"]) == 10


def test_a_name_longer_than_any_is_refused_before_anything_is_stored(base: str) -> None:
    visitor = Visitor(base)
    refused = visitor.sign_in("n" * 65, "wrong")
    assert refused.status_code == 422
    assert "A name has at most 64 characters." in refused.text
    assert visitor.sign_in("n" * 64, "wrong").status_code == 401
    assert visitor.sign_in(f"  {'n' * 64} ", "wrong").status_code == 401
    stored = b"".join(f.read_bytes() for f in running_runtime().settings.data_dir.glob("state.db*"))
    assert b"sign-in-name:" in stored
    assert b"nnnn" not in stored


def test_the_form_to_sign_in_takes_16_kb(nora: FarVisitor) -> None:
    stranger = Visitor(nora.base)
    assert stranger.sign_in("nora", "x" * 15_000).status_code == 401
    assert stranger.sign_in("nora", "x" * 17_000).status_code == 413
    # Other forms, which need a session, may be larger.
    assert nora.post("/confirm", {"password": PASSWORD, "x": "x" * 17_000}).status_code == 303


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "cqe.localhost:8000",
        "127.0.0.1",
        "[::1]:8000",
        "192.168.7.20:8000",
    ],
)
def test_pages_answer_to_names_and_addresses_of_this_machine(base: str, host: str) -> None:
    page = Visitor(base).get("/sign-in", {"Host": host})
    assert page.status_code == 200
    form = {"name": "nora", "password": PASSWORD}
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert Visitor(base).post("/sign-in", form, headers).status_code == 303


@pytest.mark.parametrize(
    "host", ["rebound.example", "localhost.rebound.example", "127.0.0.1.nip.io:8000", "[::1", "a b"]
)
def test_pages_do_not_answer_to_a_foreign_host(base: str, host: str) -> None:
    visitor = Visitor(base)
    page = visitor.get("/sign-in", {"Host": host})
    assert page.status_code == 400
    form = {"name": "nora", "password": PASSWORD}
    answer = visitor.post("/sign-in", form, {"Host": host, "Origin": f"http://{host}"})
    assert answer.status_code == 400
    assert not answer.cookies


def test_pages_answer_to_the_public_address(serve: Callable[..., str]) -> None:
    visitor = Visitor(serve(public_url="https://CQE.example.com/"))
    assert visitor.get("/sign-in", {"Host": "cqe.example.com"}).status_code == 200
    assert visitor.get("/sign-in", {"Host": "other.example.com"}).status_code == 400
    refused = visitor.get("/sign-in", {"Host": "other.example.com"})
    assert "set CQE_PUBLIC_URL" in refused.text
