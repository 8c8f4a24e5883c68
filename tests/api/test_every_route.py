"""Every route: who may open it, forged forms, framing, and stored texts that try to be HTML."""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from flask import Flask
from werkzeug.routing import Rule

from app.api_keys.authentication import PUBLIC_ENDPOINTS
from app.api_keys.enums import SCOPES
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.imports import jobs as imports
from app.people.roles import OWN_ACCOUNT, ROLES
from tests.caller import Caller
from tests.contacts import chat, judge, messages, put_call
from tests.own_scorecards import create, says
from tests.recordings import reserve
from tests.running import running_runtime
from tests.visitor import Visitor, signed_in

pytestmark = pytest.mark.long
MUCH = RateLimit(1_000_000, 60)
PROGRAM = {"Accept": "application/json"}
# Whether it is taken for text, for an attribute with either quote, for an address or for a script.
HOSTILE = "'\"><img src=x onerror=alert(1)></textarea></script><script>alert(2)</script>"


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    """A service without limits of requests."""
    return serve(
        rate=MUCH,
        rate_limit_expensive=MUCH,
        rate_limit_keys=MUCH,
        rate_limit_auth_failures=MUCH,
        rate_limit_sign_in=MUCH,
        webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),),
    )


def routes(app: Flask, prefix: str) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path with ids of nothing, and view of each route that is not public."""
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        is_public = hasattr(view, "is_public") or rule.endpoint in PUBLIC_ENDPOINTS
        if rule.endpoint.startswith(prefix) and not is_public:
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                yield method, path_of(rule), view


def path_of(rule: Rule) -> str:
    return re.sub(r"<(?:\w+:)?\w+>", lambda _: new_id("xyz"), str(rule))


def pages(app: Flask) -> list[tuple[str, str, Any]]:
    found = list(routes(app, "dashboard."))
    assert len(found) > 90
    return found


def ask(visitor: Visitor, method: str, path: str, **form: str) -> requests.Response:
    answer: requests.Response = (
        visitor.get(path, PROGRAM) if method == "GET" else visitor.post(path, form, PROGRAM)
    )
    return answer


def code_of(answer: requests.Response) -> str:
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    return str(answer.json().get("error", {}).get("code", "")) if is_json else ""


@pytest.mark.parametrize("role", ROLES)
def test_a_page_opens_for_the_roles_that_have_its_scope(
    flask_app: Flask, base: str, runtime: Runtime, role: str
) -> None:
    visitor = signed_in(base, runtime, role)
    for method, path, view in pages(flask_app):
        # These forms are for every role, and end the session.
        if view.required_scope == OWN_ACCOUNT and method == "POST":
            continue
        answer = ask(visitor, method, path)
        is_refused = code_of(answer) == "INSUFFICIENT_SCOPE"
        assert is_refused is (view.required_scope not in ROLES[role]), (method, path)
        assert answer.status_code < 500, (method, path)


def test_without_a_session_no_page_opens_and_no_form_is_taken(flask_app: Flask, base: str) -> None:
    visitor = Visitor(base)
    for method, path, _ in pages(flask_app):
        answer = ask(visitor, method, path)
        assert (answer.status_code, code_of(answer)) == (401, "SIGN_IN_NEEDED"), (method, path)


def test_no_form_is_taken_from_elsewhere(flask_app: Flask, base: str, runtime: Runtime) -> None:
    admin = signed_in(base, runtime, "admin")
    token = admin.token
    for method, path, _ in pages(flask_app):
        if method == "GET":
            continue
        for headers, sent in (
            ({"Origin": "https://evil.example"}, token),
            ({"Origin": ""}, token),
            ({"Sec-Fetch-Site": "cross-site"}, token),
            ({}, ""),
            ({}, "A" * 88),
        ):
            answer = admin.post(path, {"form_token": sent}, {**PROGRAM, **headers})
            assert (answer.status_code, code_of(answer)) == (403, "FORGED_REQUEST"), path
    assert admin.get("/settings").status_code == 200


def test_no_page_can_be_framed_or_sniffed(flask_app: Flask, base: str, runtime: Runtime) -> None:
    admin = signed_in(base, runtime, "admin")
    addresses = [path for method, path, _ in pages(flask_app) if method == "GET"]
    for address in (*addresses, "/sign-in", "/docs", "/nothing"):
        headers = admin.get(address).headers
        assert headers["X-Content-Type-Options"] == "nosniff", address
        if headers["Content-Type"].startswith("text/html"):
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], address


def test_an_endpoint_takes_its_own_scope_alone(
    flask_app: Flask, base: str, make_caller: Callable[..., Caller]
) -> None:
    found = [each for each in routes(flask_app, "") if each[1].startswith("/api/v1/")]
    assert len(found) > 80
    for scope in SCOPES:
        having = make_caller(base, scopes=[scope])
        lacking = make_caller(base, scopes=[other for other in SCOPES if other != scope])
        for method, path, view in found:
            if view.required_scope != scope:
                continue
            body: dict[str, Any] | None = None if method in ("GET", "DELETE") else {}
            refused = lacking.call(method, path, body)
            assert (refused.status_code, code_of(refused)) == (403, "INSUFFICIENT_SCOPE"), path
            answer = having.call(method, path, body)
            # A trial shows evaluations, and needs their scope as well.
            needs_more = "/scorecard-trials/" in path
            assert needs_more is (code_of(answer) == "INSUFFICIENT_SCOPE"), (method, path)
            assert answer.status_code < 500, (method, path)


class Markup(HTMLParser):
    """Links of a page, and what no template of the service has: inline scripts and handlers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.foreign: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_script = tag == "script" and not str(given.get("src", "")).startswith("/assets/")
        is_handler = any(name.startswith("on") for name in given)
        addresses = [str(given.get(name)) for name in ("href", "src", "action") if name in given]
        if (
            is_script
            or is_handler
            or any(address.startswith("javascript:") for address in addresses)
        ):
            self.foreign.append(self.get_starttag_text() or tag)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))


def stored(answer: requests.Response) -> Any:
    assert answer.ok, answer.text
    return answer.json()["data"]


def put_hostile_texts(client: Caller, admin: Visitor) -> None:
    """Store hostile texts wherever the service takes texts of others."""
    short = HOSTILE[:60]
    said = messages(tuple((role, HOSTILE) for role in ("customer", "agent") * 4))
    names = dict.fromkeys(("executive", "campaign", "engagement", "callCenter"), short)
    texts = {"subject": HOSTILE, "customerRef": HOSTILE, "tags": [short[:40]], **names}
    items = [
        {"externalId": HOSTILE, **chat(messages=said, **texts)},
        {"externalId": "chat-2", **chat(**texts)},
    ]
    for sent in ({"format": "native", "items": items}, {"format": "native", "content": HOSTILE}):
        queued = stored(client.post("/imports", {**sent, "createMissing": True}))
        imports.run_import(running_runtime(), queued["id"])
    put_call(client, botName=short)
    reserve(client, fileName=f"{HOSTILE.replace('/', '')}.wav", labels={"team": HOSTILE})
    create(client, says("own.offer", HOSTILE, title=short, weight=100), name=short)
    judge()
    review = {"action": "comment", "reviewer": short, "reason": HOSTILE}
    for evaluation in stored(client.get("/evaluations")):
        stored(client.post(f"/evaluations/{evaluation['id']}/reviews", review))
    stored(
        client.post(
            "/webhooks",
            {"url": f"https://127.0.0.1/?{HOSTILE.replace(' ', '/')}", "events": ["export.ready"]},
        )
    )
    stored(client.post("/api-keys", {"name": short, "scopes": ["audio:read"]}))
    person = {"displayName": short, "timezone": "UTC", "theme": "dark", "letterKeys": "on"}
    for path, form in (
        ("/settings", person),
        ("/evaluations/views", {"name": short[:40], "query": f"q={HOSTILE}"}),
    ):
        assert admin.post(path, form).status_code == 303, path


def kind_of(address: str) -> str:
    return re.sub(r"[a-z]{2,5}_[0-9a-z]{26}", "<id>", urlsplit(address).path)


def test_stored_texts_stay_texts_on_every_page(base: str, runtime: Runtime, client: Caller) -> None:
    assert len(Markup(HOSTILE).foreign) == 2
    admin = signed_in(base, runtime, "admin")
    put_hostile_texts(client, admin)
    waiting = deque(["/", f"/evaluations?q={HOSTILE}", f"/sign-in?next={HOSTILE}"])
    opened: Counter[str] = Counter()
    while waiting:
        address = waiting.popleft()
        # Two pages of each kind: the first may be the one without hostile texts.
        if opened[kind_of(address)] == 2 or not address.startswith("/"):
            continue
        opened[kind_of(address)] += 1
        answer = admin.get(address)
        assert answer.status_code < 500, address
        if answer.headers["Content-Type"].startswith("text/html"):
            markup = Markup(answer.text)
            assert markup.foreign == [], address
            waiting.extend(link for link in markup.links if not link.endswith(".csv"))
    assert {"/evaluations", "/evaluations/<id>", "/executives/<id>", "/scorecards/<id>"} <= set(
        opened
    )
    assert {"/keys/<id>", "/people/<id>", "/work", "/review"} <= set(opened)
    shown = admin.get("/evaluations").text + admin.get("/keys").text + admin.get("/settings").text
    assert shown.count("&lt;img src=x") >= 3
