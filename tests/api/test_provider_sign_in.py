"""Sign-in with a provider: who gets in, with which role, and the answers and tokens that are refused."""

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
import time_machine
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry, serialize_compact
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit, group_roles
from app.people import service
from app.people.audit import Action
from app.people.models import AuditEntry, User, UserSession
from app.system import checks
from tests.caller import Caller
from tests.contacts import put
from tests.running import running_runtime
from tests.sign_in_provider import (
    CLIENT_ID,
    Claims,
    SignInProvider,
    begin,
    path_of,
    query_of,
    sign_in,
)
from tests.visitor import PASSWORD, Visitor, add_user

Serve = Callable[..., str]
LEADS = group_roles("*=viewer,qa-leads=lead")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[SignInProvider]:
    # Which the server half asks for where it has no TLS.
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with SignInProvider() as running:
        yield running


@pytest.fixture
def visitor(serve: Serve, provider: SignInProvider) -> Visitor:
    """A visitor of a service that makes accounts for whom the provider lets in."""
    base = serve(**provider.settings(oidc_groups=LEADS, oidc_new_accounts=True))
    add_user(running_runtime(), "admin")
    return Visitor(base)


def users(runtime: Runtime) -> dict[str, User]:
    with runtime.db.reading() as session:
        return {user.name: user for user in session.scalars(select(User))}


def actions(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def signed_in_as(visitor: Visitor) -> str:
    page = visitor.get("/settings")
    return re.search(r"You sign in as <b>([^<]+)", page.text)[1] if page.ok else ""


def test_a_person_of_the_provider_gets_an_account_with_the_role_of_their_groups(
    visitor: Visitor, provider: SignInProvider
) -> None:
    asked = visitor.get("/trends").headers["Location"]
    link = re.search(r'href="(/sign-in/provider[^"]*)"', visitor.get(asked).text)[1]
    answer = sign_in(visitor, provider, link)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/trends")
    nora = users(running_runtime())["nora"]
    assert (nora.role, nora.display_name, nora.email) == ("lead", "Nora North", "nora@example.com")
    assert (nora.password_hash, nora.must_change_password) == ("", False)
    assert signed_in_as(visitor) == "nora"
    assert 'name="current"' not in visitor.get("/settings").text
    assert actions(running_runtime()) == [Action.USER_CREATED, Action.SIGNED_IN]
    # Nobody has a password for the account.
    for password in ("", PASSWORD):
        assert Visitor(visitor.base).sign_in("nora", password).status_code == 401


def test_what_is_asked_of_the_provider(visitor: Visitor, provider: SignInProvider) -> None:
    query = query_of(begin(visitor))
    assert query["response_type"] == "code"
    assert query["client_id"] == CLIENT_ID
    assert query["scope"] == "openid profile email"
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == f"{visitor.base}/sign-in/provider/back"
    others = query_of(begin(visitor))
    assert all(query[name] != others[name] for name in ("state", "nonce", "code_challenge"))


def test_what_the_token_lacks_is_asked_for(visitor: Visitor, provider: SignInProvider) -> None:
    provider.tells_all = False
    assert sign_in(visitor, provider).status_code == 303
    assert users(running_runtime())["nora"].role == "lead"
    provider.user_info = {**provider.person, "sub": "somebody else"}
    assert sign_in(Visitor(visitor.base), provider).status_code == 401


Spoiled = Callable[[SignInProvider], None]
_OTHER_KEY = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})


def _claims(**changes: Any) -> Spoiled:
    """Change claims; None leaves one out."""

    def spoil(provider: SignInProvider) -> None:
        def change(claims: Claims) -> None:
            claims |= changes
            for name in [name for name, value in changes.items() if value is None]:
                del claims[name]

        provider.change = change

    return spoil


def _age(seconds: int) -> Spoiled:
    def spoil(provider: SignInProvider) -> None:
        def change(claims: Claims) -> None:
            claims["exp"] = claims["iat"] - seconds

        provider.change = change

    return spoil


def _signed(key: Any, **header: Any) -> Spoiled:
    """Sign with another key than the one that is published."""

    def spoil(provider: SignInProvider) -> None:
        def signed(claims: Claims) -> str:
            full = {"kid": "one", **header}
            everything = JWSRegistry(algorithms=[full["alg"]], strict_check_header=False)
            return serialize_compact(full, json.dumps(claims), key, registry=everything)

        provider.signed = signed  # type: ignore[method-assign]

    return spoil


def _by_hand(alg: str) -> Spoiled:
    """Leave out the signature, or take the published key for a secret that both know."""

    def spoil(provider: SignInProvider) -> None:
        def signed(claims: Claims) -> str:
            parts = [
                urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
                for part in ({"alg": alg, "kid": "one"}, claims)
            ]
            secret = provider.key.as_pem(private=False)
            mac = hmac.digest(secret, b".".join(parts), "sha256") if alg == "HS256" else b""
            return b".".join([*parts, urlsafe_b64encode(mac).rstrip(b"=")]).decode()

        provider.signed = signed  # type: ignore[method-assign]

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _by_hand("none"),
        _by_hand("HS256"),
        _signed(_OTHER_KEY, alg="ES256"),
        _signed(_OTHER_KEY, alg="ES256", kid="two"),
        _signed(_OTHER_KEY, alg="ES256", jwk=_OTHER_KEY.as_dict(private=False)),
        _signed(RSAKey.generate_key(2048), alg="RS256"),
        _claims(iss="https://other.example"),
        _claims(iss=None),
        _claims(aud="another client"),
        _claims(aud=["another client"]),
        _claims(aud=[CLIENT_ID, "another client"], azp="another client"),
        _claims(aud=None),
        _age(61),
        _claims(exp=None),
        _claims(iat=4_000_000_000),
        _claims(nbf=4_000_000_000),
        _claims(nonce="another"),
        _claims(nonce=None),
        _claims(sub=""),
        _claims(sub=None),
        _claims(sub=7),
        _claims(sub="x" * 256),
        _claims(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
    ],
    ids=[
        *("alg none", "public key as secret", "foreign key", "unknown key", "key in the header"),
        *("foreign algorithm", "wrong issuer", "no issuer", "wrong audience", "wrong audiences"),
        *("of another party", "no audience", "expired", "no expiry", "of the future"),
        *("not yet valid", "wrong nonce", "no nonce", "empty subject", "no subject"),
        *("odd subject", "long subject", "of another access token"),
    ],
)
def test_a_bad_token_is_refused(visitor: Visitor, provider: SignInProvider, spoil: Spoiled) -> None:
    spoil(provider)
    answer = sign_in(visitor, provider)
    assert answer.status_code == 401
    assert "could not be verified" in answer.text
    assert not users(running_runtime()).keys() - {"admin"}
    assert actions(running_runtime()) == [Action.SIGN_IN_FAILED]
    assert visitor.get("/settings").status_code == 303


def test_a_code_works_once(visitor: Visitor, provider: SignInProvider) -> None:
    back = provider.send_back(begin(visitor))
    pending = visitor.pending
    assert visitor.get(back).status_code == 303
    # A copy of the browser's cookie with the same answer.
    copy = Visitor(visitor.base)
    copy.pending = pending
    again = copy.get(back)
    assert (again.status_code, "This sign-in has ended" in again.text) == (401, True)
    # The code in a sign-in of somebody else.
    other = Visitor(visitor.base)
    query = {"code": query_of(back)["code"], "state": query_of(begin(other))["state"]}
    assert other.get(f"/sign-in/provider/back?{urlencode(query)}").status_code == 401
    assert provider.requests.count("token") == 2


def test_an_answer_to_another_sign_in_is_refused(
    visitor: Visitor, provider: SignInProvider
) -> None:
    """A stranger cannot sign somebody in to the stranger's own account."""
    back = provider.send_back(begin(Visitor(visitor.base)))
    assert visitor.get(back).status_code == 401
    begin(visitor)
    mine = visitor.pending
    for changed in (back, path_of(back).replace("state=", "state=x"), back.partition("&")[0]):
        visitor.pending = mine
        assert visitor.get(changed).status_code == 401
    assert "token" not in provider.requests
    # A code of another sign-in has another verifier and another nonce.
    query = {"code": query_of(back)["code"], "state": query_of(begin(visitor))["state"]}
    assert visitor.get(f"/sign-in/provider/back?{urlencode(query)}").status_code == 401


@pytest.mark.parametrize("cookie", ["__Host-cqe-pending=x", "__Host-cqe-pending=v1.k.a.b", ""])
def test_without_what_the_browser_keeps_nothing_is_asked(
    visitor: Visitor, provider: SignInProvider, cookie: str
) -> None:
    visitor.pending = cookie
    assert visitor.get("/sign-in/provider/back?code=x&state=").status_code == 401
    assert provider.requests == []


def test_a_sign_in_has_ten_minutes(visitor: Visitor, provider: SignInProvider) -> None:
    back = provider.send_back(begin(visitor))
    with time_machine.travel(utc_now() + timedelta(minutes=11)):
        assert visitor.get(back).status_code == 401


def test_what_the_provider_refuses_is_said(visitor: Visitor) -> None:
    state = query_of(begin(visitor))["state"]
    answer = visitor.get(f"/sign-in/provider/back?error=access_denied&state={state}")
    assert answer.status_code == 401
    assert "did not let you in" in answer.text


def test_a_new_key_of_the_provider_is_learnt(visitor: Visitor, provider: SignInProvider) -> None:
    assert sign_in(visitor, provider).status_code == 303
    provider.key = ECKey.generate_key("P-256", {"kid": "two", "use": "sig"})
    provider.published.append(provider.key)
    assert sign_in(Visitor(visitor.base), provider).status_code == 303
    # Unknown keys are no way to make the service ask again and again.
    asked = provider.requests.count("keys")
    provider.key = ECKey.generate_key("P-256", {"kid": "three", "use": "sig"})
    for _ in range(3):
        assert sign_in(Visitor(visitor.base), provider).status_code == 401
    assert provider.requests.count("keys") == asked


def test_known_people_alone_get_in_unless_accounts_are_made(
    serve: Serve, provider: SignInProvider
) -> None:
    base = serve(**provider.settings())
    runtime = running_runtime()
    add_user(runtime, "admin")
    stranger = sign_in(Visitor(base), provider)
    assert (stranger.status_code, "no account here" in stranger.text) == (401, True)
    # A name is no proof: it may be chosen at the provider.
    add_user(runtime, "viewer", "nora")
    assert sign_in(Visitor(base), provider).status_code == 401
    with runtime.db.writing() as session:
        service.change_email(session, service.find_by_name(session, "nora"), "Nora@Example.com")
    local = Visitor(base)
    assert local.sign_in("nora").status_code == 303
    # Nor is an address that the provider has not verified.
    provider.person["email_verified"] = False
    assert sign_in(Visitor(base), provider).status_code == 401
    provider.person["email_verified"] = True
    nora = Visitor(base)
    assert sign_in(nora, provider).status_code == 303
    assert signed_in_as(nora) == "nora"
    # From now on the account is theirs alone: without password, whatever address they have.
    assert local.get("/settings").status_code == 303
    assert local.sign_in("nora").status_code == 401
    provider.person["email"] = "other@example.com"
    assert sign_in(Visitor(base), provider).status_code == 303
    provider.person |= {"sub": "subject-2", "email": "nora@example.com"}
    assert sign_in(Visitor(base), provider).status_code == 401
    assert Action.ACCOUNT_LINKED in actions(runtime)


def test_a_disabled_account_is_out_and_stays_out(
    visitor: Visitor, provider: SignInProvider
) -> None:
    assert sign_in(visitor, provider).status_code == 303
    with running_runtime().db.writing() as session:
        service.disable(session, service.find_by_name(session, "nora"))
    assert visitor.get("/").headers["Location"].startswith("/sign-in")
    answer = sign_in(visitor, provider)
    assert (answer.status_code, "disabled" in answer.text) == (401, True)


def test_groups_give_role_and_call_centre_at_each_sign_in(
    serve: Serve, provider: SignInProvider, make_caller: Callable[..., Caller]
) -> None:
    rules = group_roles("qa=reviewer@Berlin, qa-rome=reviewer@Rome, chiefs=admin, calls=agent@Rome")
    base = serve(**provider.settings(oidc_groups=rules, oidc_new_accounts=True))
    runtime, client = running_runtime(), make_caller(base)
    add_user(runtime, "admin")
    berlin = put(client, "call-centers", "b", {"name": "Berlin"})["id"]

    def groups(*names: str) -> tuple[int, str, list[str]]:
        provider.person["groups"] = list(names)
        answer = sign_in(Visitor(base), provider)
        nora = users(runtime).get("nora")
        return answer.status_code, nora.role if nora else "", nora.call_center_ids if nora else []

    assert groups("others") == (401, "", [])
    assert groups("qa-rome") == (401, "", [])
    assert groups("qa") == (303, "reviewer", [berlin])
    rome = put(client, "call-centers", "r", {"name": "Rome"})["id"]
    with runtime.db.writing() as session:
        nora = service.find_by_name(session, "nora")
        assert nora is not None
        service.change_role(
            session, nora, "reviewer", call_center_ids=[berlin], campaign_ids=["camp_1"]
        )
    assert groups("qa", "qa-rome", "others") == (303, "reviewer", [berlin, rome])
    # The limit that an admin has set is not lifted.
    assert users(runtime)["nora"].campaign_ids == ["camp_1"]
    assert groups("qa", "chiefs") == (303, "admin", [])
    assert groups("calls") == (303, "agent", [rome])
    # Who has left all groups is out.
    assert groups()[0] == 401
    assert Action.ROLE_CHANGED in actions(runtime)


def test_one_admin_keeps_a_password(serve: Serve, provider: SignInProvider) -> None:
    base = serve(**provider.settings())
    runtime = running_runtime()
    user_id = add_user(runtime, "admin", "nora")
    with runtime.db.writing() as session:
        service.change_email(session, service.get(session, user_id), "nora@example.com")
    answer = sign_in(Visitor(base), provider)
    assert (answer.status_code, "a password: make another" in answer.text) == (409, True)
    assert Visitor(base).sign_in("nora").status_code == 303


def test_the_password_form_can_be_left_to_admins(serve: Serve, provider: SignInProvider) -> None:
    base = serve(**provider.settings(password_sign_in="admins"))
    for role in ("admin", "viewer"):
        add_user(running_runtime(), role)
    page = Visitor(base).get("/sign-in").text
    assert 'name="password"' not in page
    assert "/sign-in/provider" in page
    assert 'name="password"' in Visitor(base).get("/sign-in?password").text
    assert Visitor(base).sign_in("viewer").status_code == 401
    assert Visitor(base).sign_in("admin").status_code == 303


def test_sensitive_pages_ask_for_a_new_sign_in_at_the_provider(
    serve: Serve, provider: SignInProvider
) -> None:
    rules = group_roles("qa-leads=admin")
    base = serve(**provider.settings(oidc_groups=rules, oidc_new_accounts=True))
    add_user(running_runtime(), "admin")
    nora = Visitor(base)
    # The provider remembers a sign-in of this morning.
    provider.auth_time = int(utc_now().timestamp()) - 7200
    assert sign_in(nora, provider).status_code == 303
    again = nora.get(nora.get("/people").headers["Location"]).headers["Location"]
    url = begin(nora, again)
    assert (query_of(url)["prompt"], query_of(url)["max_age"]) == ("login", "300")
    assert nora.get(provider.send_back(url)).status_code == 401
    provider.auth_time = 0
    assert sign_in(nora, provider, again).headers["Location"] == "/people"
    assert nora.get("/people").status_code == 200


def test_signing_out_leads_to_the_provider(visitor: Visitor, provider: SignInProvider) -> None:
    sign_in(visitor, provider)
    session = visitor.cookie
    left = visitor.post("/sign-out")
    assert left.headers["Location"] == "/sign-in/signed-out"
    page = visitor.get("/sign-in/signed-out")
    url = page.headers["Refresh"].partition("url=")[2]
    assert url.startswith(f"{provider.issuer}/end?")
    assert query_of(url)["post_logout_redirect_uri"] == f"{visitor.base}/sign-in"
    visitor.cookie = session
    assert visitor.get("/settings").status_code == 303


@pytest.mark.parametrize("named", [{}, {"sub": None, "sid": "session-1"}], ids=str)
def test_a_sign_out_at_the_provider_ends_the_session_here(
    visitor: Visitor, provider: SignInProvider, named: dict[str, Any]
) -> None:
    admin = Visitor(visitor.base)
    admin.sign_in("admin")
    sign_in(visitor, provider)
    told = requests.post(
        f"{visitor.base}/sign-in/provider/signed-out",
        data={"logout_token": provider.logout_token(**named)},
        timeout=30,
    )
    assert (told.status_code, told.headers["Cache-Control"]) == (200, "no-store")
    assert visitor.get("/settings").status_code == 303
    assert admin.get("/settings").status_code == 200
    assert actions(running_runtime())[-1] == Action.SESSION_ENDED


def test_a_logout_token_does_not_end_what_began_after_it(
    visitor: Visitor, provider: SignInProvider
) -> None:
    earlier = int(utc_now().timestamp()) - 120
    token = provider.logout_token(iat=earlier)
    sign_in(visitor, provider)
    told = requests.post(
        f"{visitor.base}/sign-in/provider/signed-out", data={"logout_token": token}, timeout=30
    )
    assert told.status_code == 200
    assert visitor.get("/settings").status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"events": None},
        {"events": {}},
        {"nonce": "x"},
        {"sub": None},
        {"aud": "another client"},
        {"iss": "https://other.example"},
        {"iat": 1_700_000_000},
        {"iat": None},
    ],
    ids=str,
)
def test_a_bad_logout_token_ends_nothing(
    visitor: Visitor, provider: SignInProvider, changes: dict[str, Any]
) -> None:
    sign_in(visitor, provider)
    for token in (provider.logout_token(**changes), "", "a.b.c"):
        told = requests.post(
            f"{visitor.base}/sign-in/provider/signed-out", data={"logout_token": token}, timeout=30
        )
        assert told.status_code == 400, told.text
    assert visitor.get("/settings").status_code == 200


def test_a_provider_that_is_away_is_said_and_passwords_work(
    serve: Serve, provider: SignInProvider
) -> None:
    base = serve(**provider.settings(oidc_issuer="http://127.0.0.1:9"))
    add_user(running_runtime(), "admin")
    answer = Visitor(base).get("/sign-in/provider")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert 'name="password"' in answer.text
    assert Visitor(base).sign_in("admin").status_code == 303


def test_a_provider_that_describes_itself_as_another_is_not_used(
    serve: Serve, provider: SignInProvider
) -> None:
    base = serve(**provider.settings(oidc_issuer=provider.issuer.replace("127.0.0.1", "localhost")))
    assert Visitor(base).get("/sign-in/provider").status_code == 503


def test_doctor_asks_the_provider(serve: Serve, provider: SignInProvider) -> None:
    serve(**provider.settings())
    settings = running_runtime().settings
    away = replace(settings, oidc_issuer="http://127.0.0.1:9")
    found = [
        result.verdict
        for asked in (settings, away)
        for result in checks.examine(asked)
        if result.check == "sign-in"
    ]
    assert found == [checks.Verdict.OK, checks.Verdict.FAIL]


def test_coming_back_is_limited_by_address(serve: Serve, provider: SignInProvider) -> None:
    base = serve(**provider.settings(rate_limit_sign_in=RateLimit(1, 600)))
    statuses = []
    for _ in range(7):
        visitor = Visitor(base)
        state = query_of(begin(visitor))["state"]
        answer = visitor.get(f"/sign-in/provider/back?code=guessed&state={state}")
        statuses.append(answer.status_code)
    assert statuses == [401] * 6 + [429]
    assert provider.requests.count("token") == 6


def test_who_begins_no_sign_in_cannot_fill_the_audit_trail(
    serve: Serve, provider: SignInProvider
) -> None:
    base = serve(**provider.settings(rate_limit_sign_in=RateLimit(1, 600)))
    answers = [Visitor(base).get("/sign-in/provider/back?state=x") for _ in range(8)]
    assert [answer.status_code for answer in answers] == [401] * 6 + [429] * 2
    assert actions(running_runtime()) == [Action.SIGN_IN_FAILED] * 6


def test_without_a_provider_there_are_no_such_pages(base: str) -> None:
    for path in ("/sign-in/provider", "/sign-in/provider/back", "/sign-in/signed-out"):
        assert Visitor(base).get(path).status_code == 404


@pytest.mark.sqlite_only("reads the file")
def test_the_database_has_no_token(visitor: Visitor, provider: SignInProvider) -> None:
    sign_in(visitor, provider)
    folder = running_runtime().settings.data_dir
    dump = (folder / "cqe.db").read_bytes() + (folder / "cqe.db-wal").read_bytes()
    assert b"subject-1" in dump
    assert b"eyJ" not in dump
    with running_runtime().db.reading() as session:
        assert session.scalars(select(UserSession.via)).all() == ["provider"]
