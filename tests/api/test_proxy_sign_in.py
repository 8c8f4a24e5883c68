"""Sign-in through a proxy that has let somebody in: believed from trusted addresses alone."""

from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest

from app.core.runtime import Runtime
from app.people import service
from app.people.audit import Action
from app.people.models import AuditEntry
from tests.running import running_runtime
from tests.visitor import PASSWORD, Visitor, add_user

HERE, ELSEWHERE = (ip_network(text) for text in ("127.0.0.0/8", "10.0.0.0/8"))


class Proxied(Visitor):
    """A visitor whose requests pass a proxy that says who they are."""

    def __init__(self, base: str, name: str) -> None:
        super().__init__(base)
        self.name = name

    def _send(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Any:
        if self.name:
            headers["Remote-User"] = self.name
        return super()._send(method, path, headers, **more)


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    base = serve(
        proxy_user_header="Remote-User", trusted_proxies=(HERE,), password_sign_in="admins"
    )
    for role, name in (("admin", "ada"), ("reviewer", "nora")):
        add_user(running_runtime(), role, name)
    return base


def enter(visitor: Visitor) -> Any:
    asked = visitor.get("/settings").headers["Location"]
    return visitor.get(asked)


def test_whom_a_trusted_proxy_names_is_signed_in(base: str) -> None:
    nora = Proxied(base, "Nora")
    answer = enter(nora)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/settings")
    assert "You sign in as <b>nora</b>" in nora.get("/settings").text


def test_the_session_is_worth_nothing_without_the_proxy(base: str) -> None:
    nora = Proxied(base, "nora")
    enter(nora)
    for name in ("", "ada", "nora,ada", "nobody"):
        nora.name = name
        assert nora.get("/settings").status_code == 303, name
    nora.name = "nora"
    assert nora.get("/settings").status_code == 200


def test_another_person_at_the_proxy_gets_another_session(base: str) -> None:
    visitor = Proxied(base, "nora")
    enter(visitor)
    visitor.name = "ada"
    enter(visitor)
    assert "You sign in as <b>ada</b>" in visitor.get("/settings").text
    # The proxy vouches at each request: no password is asked for.
    assert visitor.get("/people").status_code == 200


def test_an_unknown_name_is_refused_with_a_message(base: str, runtime: Runtime) -> None:
    for name in ("nobody", "x" * 3000, "nora,ada", "\u00e9".encode().decode("latin-1")):
        answer = enter(Proxied(base, name))
        assert (answer.status_code, "no account here" in answer.text) == (403, True)
    with runtime.db.reading() as session:
        actions = session.query(AuditEntry.action).distinct().all()
    assert [action for (action,) in actions] == [Action.SIGN_IN_FAILED]


def test_a_disabled_account_is_out(base: str, runtime: Runtime) -> None:
    nora = Proxied(base, "nora")
    enter(nora)
    with runtime.db.writing() as session:
        service.disable(session, service.find_by_name(session, "nora"))
    assert enter(nora).status_code == 403


@pytest.mark.parametrize(
    "settings",
    [
        {"proxy_user_header": "Remote-User", "trusted_proxies": (ELSEWHERE,)},
        {"proxy_user_header": "X-Other-User", "trusted_proxies": (HERE,)},
        {"trusted_proxies": (HERE,)},
    ],
    ids=["foreign address", "another header", "no header"],
)
def test_the_header_of_anybody_else_says_nothing(
    serve: Callable[..., str], settings: dict[str, Any]
) -> None:
    base = serve(**settings)
    add_user(running_runtime(), "admin", "ada")
    visitor = Proxied(base, "ada")
    # Nor does an address that the caller has written.
    forged = {"X-Forwarded-For": "10.0.0.1", "Remote_User": "ada"}
    page = visitor.get("/sign-in", forged)
    assert (page.status_code, 'name="password"' in page.text) == (200, True)
    assert visitor.sign_in("ada", PASSWORD).status_code == 303
