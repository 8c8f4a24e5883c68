"""Second factor of local accounts: set up, asked for, used once, limited, required by role."""

import html
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pyotp
import pytest
import time_machine
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.people import second_factor, service
from app.people.audit import Action
from app.people.models import AuditEntry
from tests.running import CommandRunner, running_runtime
from tests.visitor import PASSWORD, Visitor, add_user

START = datetime.fromisoformat("2026-11-25T10:00:00Z")


@pytest.fixture
def clock() -> Iterator[Any]:
    """The clock, which stands still: a code lasts for half a minute of it."""
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


class Phone:
    """The app of a person, and their recovery codes."""

    def __init__(self, secret: str, codes: list[str]) -> None:
        self.secret, self.recovery_codes = secret, codes

    def code(self, *, steps: int = 0) -> str:
        return pyotp.TOTP(self.secret).at(utc_now(), counter_offset=steps)


def set_up(visitor: Visitor) -> Phone:
    """Add an app to the account of a visitor."""
    page = visitor.get("/settings/second-factor").text
    secret, sealed = shown_secret(page)
    form = {"secret": sealed, "password": PASSWORD, "code": pyotp.TOTP(secret).at(utc_now())}
    answer = visitor.post("/settings/second-factor", form)
    assert answer.status_code == 200, answer.text
    return Phone(secret, re.findall(r"<li><code>([^<]+)", answer.text))


def shown_secret(page: str) -> tuple[str, str]:
    secret = re.search(r"type the key into it: <code>(\w+)", page)[1]
    sealed = re.search(r'name="secret" value="([^"]+)"', page)[1]
    return secret, html.unescape(sealed)


@pytest.fixture
def nora(clock: Any, base: str, runtime: Runtime) -> Visitor:
    add_user(runtime, "reviewer", "nora")
    visitor = Visitor(base)
    assert visitor.sign_in("nora").status_code == 303
    return visitor


@pytest.fixture
def phone(nora: Visitor, clock: Any) -> Phone:
    made = set_up(nora)
    clock.shift(timedelta(minutes=1))
    return made


def enter(visitor: Visitor, code: str, path: str = "/sign-in") -> Any:
    """Sign in with password and code; return the answer to the code."""
    asked = visitor.sign_in("nora", path=path)
    assert asked.status_code == 303
    assert asked.headers["Location"].startswith("/sign-in/code")
    return visitor.post(asked.headers["Location"], {"code": code})


def actions(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def test_a_sign_in_needs_the_code_of_the_app(nora: Visitor, phone: Phone, runtime: Runtime) -> None:
    visitor = Visitor(nora.base)
    asked = visitor.sign_in("nora", path="/sign-in?next=/trends")
    assert asked.headers["Location"] == "/sign-in/code?next=/trends"
    assert not visitor.cookie
    assert visitor.get("/settings").status_code == 303
    form = visitor.get(asked.headers["Location"]).text
    assert 'action="/sign-in/code?next=/trends"' in form
    wrong = visitor.post("/sign-in/code?next=/trends", {"code": "000000"})
    assert (wrong.status_code, "This code is wrong" in wrong.text) == (401, True)
    typed = f"{phone.code()[:3]} {phone.code()[3:]}"
    right = visitor.post("/sign-in/code?next=/trends", {"code": typed})
    assert (right.status_code, right.headers["Location"]) == (303, "/trends")
    assert visitor.get("/settings").status_code == 200
    made = [Action.SIGNED_IN, Action.SECOND_FACTOR_SET, Action.SIGN_IN_FAILED, Action.SIGNED_IN]
    assert actions(runtime) == made


def test_a_code_works_once_and_not_for_long(nora: Visitor, phone: Phone, clock: Any) -> None:
    code, earlier = phone.code(), phone.code(steps=-1)
    assert enter(Visitor(nora.base), code).status_code == 303
    # Neither again, nor one that was shown before it.
    assert enter(Visitor(nora.base), code).status_code == 401
    assert enter(Visitor(nora.base), earlier).status_code == 401
    clock.shift(timedelta(minutes=2))
    assert enter(Visitor(nora.base), phone.code(steps=-2)).status_code == 401
    assert enter(Visitor(nora.base), phone.code(steps=1)).status_code == 303


def test_a_recovery_code_works_once(nora: Visitor, phone: Phone, runtime: Runtime) -> None:
    assert len(set(phone.recovery_codes)) == 8
    code = phone.recovery_codes[3]
    assert enter(Visitor(nora.base), code.upper()).status_code == 303
    assert enter(Visitor(nora.base), code).status_code == 401
    assert enter(Visitor(nora.base), phone.recovery_codes[4].replace("-", "")).status_code == 303
    assert actions(runtime).count(Action.RECOVERY_CODE_USED) == 2


def test_attempts_are_limited_by_account(nora: Visitor, phone: Phone, clock: Any) -> None:
    """Many addresses and browsers have no more attempts than one."""
    statuses = [enter(Visitor(nora.base), "000000").status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    refused = enter(Visitor(nora.base), phone.code())
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) == 180
    clock.shift(timedelta(minutes=4))
    assert enter(Visitor(nora.base), phone.code()).status_code == 303


def test_a_step_of_a_sign_in_is_of_its_browser_and_password(
    nora: Visitor, phone: Phone, runtime: Runtime, clock: Any
) -> None:
    def back_at_the_form(visitor: Visitor) -> bool:
        answer = visitor.post("/sign-in/code", {"code": phone.code()})
        return answer.status_code == 303 and answer.headers["Location"] == "/sign-in"

    assert back_at_the_form(Visitor(nora.base))
    forged = Visitor(nora.base)
    forged.pending = "__Host-cqe-pending=v1.k.AAAA.AAAA"
    assert back_at_the_form(forged)
    late = Visitor(nora.base)
    late.sign_in("nora")
    with runtime.db.writing() as session:
        service.reset_password(session, service.find_active(session, "nora"), "another")
    assert late.post("/sign-in/code", {"code": phone.code()}).status_code == 401
    clock.shift(timedelta(minutes=11))
    assert back_at_the_form(late)


def test_setting_it_up_needs_the_password_and_a_right_code(nora: Visitor) -> None:
    secret, sealed = shown_secret(nora.get("/settings/second-factor").text)
    right = {"secret": sealed, "password": PASSWORD, "code": pyotp.TOTP(secret).at(utc_now())}
    for wrong, field in (
        ({"password": "not mine"}, "password"),
        ({"code": "000000"}, "code"),
        ({"secret": "v1.k.AAAA.AAAA"}, "code"),
        ({"secret": ""}, "code"),
    ):
        answer = nora.post("/settings/second-factor", {**right, **wrong})
        assert (answer.status_code, f'id="{field}-problem"' in answer.text) == (422, True)
        if "secret" not in wrong:
            # What was scanned stays right.
            assert shown_secret(answer.text)[0] == secret
    answer = nora.post("/settings/second-factor", right)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers
    assert nora.post("/settings/second-factor", right).status_code == 409


def test_a_secret_of_somebody_else_is_refused(nora: Visitor, runtime: Runtime) -> None:
    add_user(runtime, "viewer", "tom")
    tom = Visitor(nora.base)
    tom.sign_in("tom")
    secret, sealed = shown_secret(tom.get("/settings/second-factor").text)
    form = {"secret": sealed, "password": PASSWORD, "code": pyotp.TOTP(secret).at(utc_now())}
    assert nora.post("/settings/second-factor", form).status_code == 422


def test_it_is_renewed_and_removed_with_password_and_code(
    nora: Visitor, phone: Phone, clock: Any
) -> None:
    nora.get("/settings/second-factor")
    for path in ("/settings/second-factor/codes", "/settings/second-factor/remove"):
        for form in ({"password": "no", "code": phone.code()}, {"password": PASSWORD, "code": "1"}):
            assert nora.post(path, form).status_code == 422
    form = {"password": PASSWORD, "code": phone.code()}
    renewed = nora.post("/settings/second-factor/codes", form)
    codes = re.findall(r"<li><code>([^<]+)", renewed.text)
    assert len(codes) == 8
    assert enter(Visitor(nora.base), phone.recovery_codes[0]).status_code == 401
    form["code"] = codes[0]
    removed = nora.post("/settings/second-factor/remove", form)
    assert removed.headers["Location"] == "/settings?notice=second-factor-removed"
    assert Visitor(nora.base).sign_in("nora").headers["Location"] == "/"


def test_a_role_can_need_it(serve: Callable[..., str]) -> None:
    base = serve(second_factor_roles=("admin", "reviewer"))
    runtime = running_runtime()
    for role, name in (("reviewer", "nora"), ("viewer", "tom"), ("admin", "ada")):
        add_user(runtime, role, name)
    nora, tom = Visitor(base), Visitor(base)
    tom.sign_in("tom")
    assert tom.get("/").status_code == 200
    nora.sign_in("nora")
    assert nora.get("/").headers["Location"] == "/settings/second-factor?next=/"
    assert nora.get("/evaluations", {"Accept": "application/json"}).status_code == 403
    phone = set_up(nora)
    assert nora.get("/").status_code == 200
    form = {"password": PASSWORD, "code": phone.recovery_codes[0]}
    assert nora.post("/settings/second-factor/remove", form).status_code == 409


def test_an_admin_removes_a_lost_one(nora: Visitor, phone: Phone, runtime: Runtime) -> None:
    add_user(runtime, "admin", "ada")
    ada = Visitor(nora.base)
    ada.sign_in("ada")
    with runtime.db.reading() as session:
        user_id = service.find_by_name(session, "nora").id
    assert "a second factor" in ada.get(f"/people/{user_id}").text
    assert ada.post(f"/people/{user_id}/second-factor/remove").status_code == 303
    assert nora.get("/settings").status_code == 303
    assert Visitor(nora.base).sign_in("nora").headers["Location"] == "/"
    assert Action.SECOND_FACTOR_REMOVED in actions(runtime)


def test_the_command_removes_it(nora: Visitor, phone: Phone) -> None:
    from app.people.cli import users

    done = CommandRunner().invoke(users, ["remove-second-factor", "nora"])
    assert (done.exit_code, "without a second factor" in done.output) == (0, True)
    assert Visitor(nora.base).sign_in("nora").headers["Location"] == "/"


@pytest.mark.sqlite_only("reads the file")
def test_the_database_has_neither_secret_nor_codes(
    nora: Visitor, phone: Phone, runtime: Runtime
) -> None:
    folder = runtime.settings.data_dir
    dump = (folder / "cqe.db").read_bytes() + (folder / "cqe.db-wal").read_bytes()
    for secret in (phone.secret, *phone.recovery_codes):
        assert secret.encode() not in dump
        assert secret.replace("-", "").encode() not in dump


def test_it_outlives_its_master_key(nora: Visitor, phone: Phone, runtime: Runtime) -> None:
    from app.core.secrets.encryption import Keyring

    old = runtime.keyring._keys
    both = Keyring({"new": b"n" * 32, **old})
    with runtime.db.writing() as session:
        assert second_factor.AUTHENTICATORS.rewrap(session, both) == 1
        assert second_factor.AUTHENTICATORS.rewrap(session, both) == 0
        user_id = service.find_by_name(session, "nora").id
        assert second_factor.accept(session, both, user_id, phone.code()) == "app"
        # A lost key takes the second factor along.
        assert second_factor.AUTHENTICATORS.discard(session, Keyring(old)) == 1
    assert Visitor(nora.base).sign_in("nora").headers["Location"] == "/"
