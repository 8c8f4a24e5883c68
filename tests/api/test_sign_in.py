"""Sign-in to the dashboard over HTTP: passwords, limits, sessions, the cookie and forged forms."""

import re
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.people import passwords, service, sessions
from app.people.audit import Action
from app.people.models import AuditEntry, UserSession
from tests.visitor import PASSWORD, Visitor, add_user

ONE_TIME = "wkTqN7fR2hYxVbG4mJpD"


@pytest.fixture
def visitor(base: str, runtime: Runtime) -> Visitor:
    """A visitor who may sign in as nora, a reviewer."""
    add_user(runtime, "reviewer", "nora")
    return Visitor(base)


@pytest.fixture
def nora(visitor: Visitor) -> Visitor:
    """Nora, signed in."""
    assert visitor.sign_in("nora").status_code == 303
    return visitor


def test_a_page_without_a_session_leads_to_the_sign_in_and_back(visitor: Visitor) -> None:
    asked = visitor.get("/settings?notice=saved")
    assert asked.status_code == 303
    form = asked.headers["Location"]
    assert form == "/sign-in?next=/settings?notice%3Dsaved"
    assert visitor.get(form).status_code == 200
    assert visitor.sign_in("nora", path=form).headers["Location"] == "/settings?notice=saved"


def test_a_form_that_was_sent_without_a_session_says_that_it_was_not_saved(
    nora: Visitor, base: str, runtime: Runtime
) -> None:
    with runtime.db.writing() as session:
        sessions.end_all(session, service.find_active(session, "nora").id)
    asked = nora.post("/settings", headers={"Referer": f"{base}/settings?days=7&notice=saved"})
    page = nora.sign_in("nora", path=asked.headers["Location"]).headers["Location"]
    assert page == "/settings?days=7&notice=not-sent"
    assert "what you sent was not saved" in nora.get(page).text


def test_the_address_of_a_form_leads_to_its_page(nora: Visitor) -> None:
    for path, page in (
        ("/settings/password", "/settings"),
        ("/evaluations/views?days=7", "/evaluations?days=7"),
        ("/sign-out", "/"),
    ):
        answer = nora.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (303, page)


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "x"])
def test_a_sign_in_leads_to_own_pages_alone(visitor: Visitor, path: str) -> None:
    answer = visitor.post(f"/sign-in?next={path}", {"name": "nora", "password": PASSWORD})
    assert answer.headers["Location"] == "/"


def test_names_are_compared_without_case(visitor: Visitor) -> None:
    assert visitor.sign_in(" NORA ").status_code == 303


def test_the_cookie_is_bound_to_the_host_and_hidden_from_scripts(visitor: Visitor) -> None:
    header = visitor.sign_in("nora").headers["Set-Cookie"]
    name, _, attributes = header.partition("=")
    assert name == "__Host-cqe"
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(attributes.split("; "))
    assert "Domain" not in attributes


def test_plain_http_on_another_host_has_a_cookie_of_its_own_and_a_warning(
    serve: Callable[..., str],
) -> None:
    base = serve(require_tls="0", public_url="http://cqe.lan")
    page = Visitor(base).get("/sign-in", {"Host": "cqe.lan"})
    assert "This connection is not encrypted" in page.text


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(
    visitor: Visitor, runtime: Runtime
) -> None:
    wrong = visitor.sign_in("nora", "not the password")
    unknown = visitor.sign_in("nobody", "not the password")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace("nora", "nobody") == unknown.text
    assert not visitor.cookie


def test_an_unknown_name_costs_a_hash_as_well() -> None:
    known = passwords.hash_password(PASSWORD)
    fields = zip(known.split("$"), passwords.HASH_OF_NOBODY.split("$"), strict=True)
    *parameters, salts, hashes = fields
    assert all(ours == nobodys for ours, nobodys in parameters)
    assert all(len(ours) == len(nobodys) for ours, nobodys in (salts, hashes))

    def cpu_s(phc: str | None) -> float:
        started = time.thread_time()
        assert not passwords.verify_password("not the password", phc)
        return time.thread_time() - started

    # Without a hash it would take a thousandth.
    assert min(cpu_s(None) for _ in range(5)) > 0.1 * min(cpu_s(known) for _ in range(5))


def test_the_eleventh_attempt_has_to_wait(visitor: Visitor) -> None:
    with time_machine.travel(utc_now(), tick=False) as traveller:
        for _ in range(10):
            assert visitor.sign_in("nora", "wrong").status_code == 401
        refused = visitor.sign_in("nora")
        traveller.shift(timedelta(seconds=1))
        assert visitor.sign_in("another", "wrong").status_code == 401
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "60"
    assert "wait 60 seconds" in refused.text


def test_an_address_has_a_limit_for_all_names(serve: Callable[..., str]) -> None:
    visitor = Visitor(serve(rate_limit_sign_in=RateLimit(1, 600)))
    answers = [visitor.sign_in(f"name{number}", "wrong").status_code for number in range(7)]
    assert answers == [401] * 6 + [429]


@pytest.mark.parametrize(("asked", "reached"), [("/trends", "/trends"), ("//evil.example", "/")])
def test_the_first_own_password_leads_to_the_page_that_was_asked_for(
    base: str, runtime: Runtime, asked: str, reached: str
) -> None:
    with runtime.db.writing() as session:
        hashed = passwords.hash_password(ONE_TIME)
        service.create(session, name="jo", role="admin", password_hash=hashed)
    jo = Visitor(base)
    jo.sign_in("jo", ONE_TIME)
    form = {"current": ONE_TIME, "new": PASSWORD, "repeated": PASSWORD}
    answer = jo.post(f"/settings/password?next={asked}", form)
    assert answer.headers["Location"] == f"{reached}?notice=password-changed"


def test_a_one_time_password_opens_the_form_for_ones_own_only(base: str, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        hashed = passwords.hash_password(ONE_TIME)
        service.create(session, name="jo", role="admin", password_hash=hashed)
    jo = Visitor(base)
    assert jo.sign_in("jo", ONE_TIME).status_code == 303
    assert jo.get("/").headers["Location"] == "/settings?next=/"
    assert 'action="/settings/password"' in jo.get("/settings").text
    assert 'action="/settings/password?next=/trends"' in jo.get("/settings?next=/trends").text
    form = {"current": ONE_TIME, "new": PASSWORD, "repeated": PASSWORD}
    assert jo.post("/settings/password", form).headers["Location"] == "/?notice=password-changed"
    assert jo.get("/").status_code == 200


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"current": "no"}, "This is not your password."),
        ({"new": "short"}, "The password must have 12 to 128 characters."),
        ({"new": PASSWORD}, "Choose a password other than the one before."),
        ({"new": "nora-nora-12"}, "The password must not be made of the name"),
        ({"new": "P@ssw0rd2026!!"}, "too easy to guess"),
        ({"new": "123456123456"}, "too easy to guess"),
        ({"new": "nine small birds", "repeated": "nine small bird"}, "The two passwords differ"),
    ],
)
def test_a_weak_password_is_refused_at_its_field(
    nora: Visitor, form: dict[str, str], message: str
) -> None:
    answer = nora.post(
        "/settings/password",
        {"current": PASSWORD, "repeated": form.get("new", ""), **form},
    )
    assert answer.status_code == 422
    assert (
        re.search(r'class="problem small" id="(\w+)-problem">([^<]+)<', answer.text)[2].startswith(
            message
        )
        or message in answer.text
    )
    assert PASSWORD not in answer.text


def test_a_new_password_ends_the_other_sessions(nora: Visitor) -> None:
    elsewhere = Visitor(nora.base)
    elsewhere.sign_in("nora")
    form = {"current": PASSWORD, "new": "nine small birds", "repeated": "nine small birds"}
    assert nora.post("/settings/password", form).status_code == 303
    assert nora.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 303


def test_a_session_is_ended_from_another(nora: Visitor) -> None:
    elsewhere = Visitor(nora.base)
    elsewhere.sign_in("nora")
    [path] = re.findall(r'action="(/settings/sessions/\w+/end)"', nora.get("/settings").text)
    assert nora.post(path).status_code == 303
    assert elsewhere.get("/").headers["Location"] == "/sign-in?next=/"
    assert nora.get("/").status_code == 200


def test_signing_in_again_ends_the_former_session_of_the_browser(
    nora: Visitor, runtime: Runtime
) -> None:
    elsewhere, former = Visitor(nora.base), nora.cookie
    elsewhere.sign_in("nora")
    assert nora.sign_in("nora", "wrong").status_code == 401
    assert nora.get("/").status_code == 200
    assert nora.sign_in("nora").status_code == 303
    assert nora.cookie != former
    assert [nora.get("/").status_code, elsewhere.get("/").status_code] == [200, 200]
    nora.cookie = former
    assert nora.get("/").status_code == 303
    with runtime.db.reading() as session:
        ended = session.scalars(
            select(AuditEntry.user_id).where(AuditEntry.action == Action.SESSION_ENDED)
        ).all()
        assert ended == [service.find_by_name(session, "nora").id]


def test_the_sessions_of_others_are_out_of_reach(nora: Visitor, runtime: Runtime) -> None:
    add_user(runtime, "viewer", "tom")
    tom = Visitor(nora.base)
    tom.sign_in("tom")
    elsewhere = Visitor(nora.base)
    elsewhere.sign_in("nora")
    [path] = re.findall(r'action="(/settings/sessions/\w+/end)"', nora.get("/settings").text)
    assert tom.post(path).status_code == 404
    assert elsewhere.get("/").status_code == 200


def test_signing_out_ends_the_session(nora: Visitor) -> None:
    cookie = nora.cookie
    assert nora.post("/sign-out").headers["Location"] == "/sign-in?notice=signed-out"
    assert not nora.cookie
    nora.cookie = cookie
    assert nora.get("/").status_code == 303


def test_a_session_ends_after_twelve_idle_hours(nora: Visitor) -> None:
    start = utc_now()
    for hours, status in ((11, 200), (22, 200), (35, 303)):
        with time_machine.travel(start + timedelta(hours=hours)):
            assert nora.get("/settings").status_code == status, hours


def test_a_session_ends_after_a_week_in_any_case(nora: Visitor) -> None:
    start = utc_now()
    for hours in range(6, 168, 6):
        with time_machine.travel(start + timedelta(hours=hours)):
            assert nora.get("/settings").status_code == 200, hours
    with time_machine.travel(start + timedelta(hours=168)):
        assert nora.get("/settings").status_code == 303


def test_a_disabled_account_is_out_at_the_next_request(nora: Visitor, runtime: Runtime) -> None:
    add_user(runtime, "admin")
    with runtime.db.writing() as session:
        user = service.find_by_name(session, "nora")
        assert user is not None
        user.disabled_at = utc_now()
    assert nora.get("/").status_code == 303
    assert nora.sign_in("nora").status_code == 401


@pytest.mark.sqlite_only("reads the file")
def test_the_database_has_neither_passwords_nor_cookies(nora: Visitor, runtime: Runtime) -> None:
    dump = (runtime.settings.data_dir / "cqe.db").read_bytes()
    dump += (runtime.settings.data_dir / "cqe.db-wal").read_bytes()
    assert b"nora" in dump
    assert PASSWORD.encode() not in dump
    assert nora.cookie.partition("=")[2].encode() not in dump


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://127.0.0.1:9"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_a_form_of_another_origin_changes_nothing(nora: Visitor, headers: dict[str, str]) -> None:
    form = {"displayName": "Mallory", "timezone": "UTC", "theme": "dark", "letterKeys": "on"}
    assert nora.post("/settings", form, headers).status_code == 403
    assert "Mallory" not in nora.get("/settings").text
    assert nora.post("/sign-in", {"name": "nora", "password": PASSWORD}, headers).status_code == 403


@pytest.mark.parametrize("token", ["", "no base64", "AAAA", "A" * 88])
def test_a_form_without_the_token_of_the_session_changes_nothing(nora: Visitor, token: str) -> None:
    form = {"displayName": "Mallory", "timezone": "UTC", "theme": "dark", "letterKeys": "on"}
    assert nora.post("/settings", {**form, "form_token": token}).status_code == 403
    assert "Mallory" not in nora.get("/settings").text
    assert nora.post("/settings", form).status_code == 303
    assert "Mallory" in nora.get("/settings").text


def test_the_token_of_another_session_is_refused(nora: Visitor) -> None:
    elsewhere = Visitor(nora.base)
    elsewhere.sign_in("nora")
    nora.token = elsewhere.token
    assert nora.post("/sign-out").status_code == 403


def test_the_form_token_is_masked_differently_on_each_page(nora: Visitor) -> None:
    tokens = set()
    for _ in range(3):
        nora.get("/settings")
        tokens.add(nora.token)
    assert len(tokens) == 3


def test_the_public_address_is_an_own_origin(serve: Callable[..., str], runtime: Runtime) -> None:
    base = serve(public_url="https://cqe.example.com")
    sent = Visitor(base).post("/sign-in", {}, {"Origin": "https://cqe.example.com"})
    assert sent.status_code == 401


def test_the_audit_trail_has_every_sign_in(nora: Visitor, runtime: Runtime) -> None:
    nora.sign_in("nora", "wrong")
    nora.sign_in("nobody", "wrong")
    with runtime.db.reading() as session:
        user = service.find_by_name(session, "nora")
        assert user is not None
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
        found = [(entry.action, entry.user_id, entry.object_id) for entry in entries]
        addresses = {entry.address for entry in entries}
        browsers = session.scalars(select(UserSession.browser)).all()
    assert found == [
        (Action.SIGNED_IN, user.id, user.id),
        (Action.SIGN_IN_FAILED, None, user.id),
        (Action.SIGN_IN_FAILED, None, None),
    ]
    assert addresses == {"127.0.0.1"}
    assert all(browser.startswith("python-urllib3") for browser in browsers)


@pytest.fixture
def nobody(base: str) -> Visitor:
    """A visitor without an account."""
    return Visitor(base)


def test_every_page_has_the_headers(nobody: Visitor) -> None:
    for path in ("/sign-in", "/", "/nothing"):
        headers = nobody.get(path).headers
        assert headers["Content-Security-Policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "same-origin"
        assert float(headers["Server-Timing"].removeprefix("page;dur=")) > 0


def test_a_browser_gets_a_page_and_a_program_the_envelope(nobody: Visitor) -> None:
    assert nobody.get("/nothing").status_code == 404
    assert "There is no such page" in nobody.get("/nothing").text
    asked = nobody.get("/nothing", {"Accept": "application/json"})
    assert asked.json()["error"]["code"] == "RESOURCE_NOT_FOUND"
    asked = nobody.get("/api/v1/nothing")
    assert asked.json()["error"]["code"] == "INVALID_API_KEY"
    asked = nobody.get("/live/progress", {"Accept": "application/json"})
    assert asked.status_code == 401
    assert asked.json()["error"]["code"] == "SIGN_IN_NEEDED"


def test_the_cookie_opens_no_endpoint_of_the_api(nora: Visitor) -> None:
    assert nora.get("/api/v1/evaluations").status_code == 401


def test_the_dashboard_can_be_switched_off(serve: Callable[..., str]) -> None:
    off = Visitor(serve(dashboard=False))
    assert off.get("/").status_code == 404
    assert off.get("/sign-in").status_code == 404


def test_assets_are_kept_forever_under_their_hash(nobody: Visitor) -> None:
    [path] = re.findall(r'href="(/assets/[0-9a-f]{12}/app\.css)"', nobody.get("/sign-in").text)
    style = nobody.get(path, {"Accept-Encoding": "gzip"})
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in style.headers["Cache-Control"]
    assert style.headers["Content-Encoding"] == "gzip"
    assert nobody.get("/assets/000000000000/app.css").status_code == 404
    assert nobody.get(path.replace("app.css", "..%2finstall.py")).status_code == 404
