"""Gate of the pages: sessions, forged forms, and the scopes of a person."""

import base64
import binascii
import hashlib
import hmac
import logging
import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request, current_app, g, request

from app.core.clock import utc_now
from app.core.errors import AppError, LengthRequired
from app.core.principal import Principal, limit_to
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Visit
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.people import sessions
from app.people.audit import Actor
from app.people.cookies import SESSION, own_scheme
from app.people.roles import CONFIRMED_SCOPES, OWN_ACCOUNT
from app.people.service import compared_name
from app.people.sessions import Person, Via
from app.web import rate_limit
from app.web.addresses import client_address, is_trusted, peer_address, require_own_host
from app.web.current import current_runtime
from app.web.principal import DEFAULT, check_scope
from app.web.request_record import request_id

logger = logging.getLogger(__name__)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_FORM_BYTES = 1024 * 1024
# Of the form to sign in, the only one that needs no session.
_MAX_PUBLIC_FORM_BYTES = 16 * 1024
_CONFIRMED_FOR = timedelta(minutes=10)
_TOKEN_FIELD, _TOKEN_HEADER = "form_token", "X-CQE-Token"
_TOKEN_LABEL = b"cqe/form-token/v1"
_TOKEN_LENGTH = 32


class SignInNeeded(AppError):
    status, code = 401, "SIGN_IN_NEEDED"
    message = "Your session has ended: sign in again."


class PasswordChangeNeeded(AppError):
    status, code = 403, "PASSWORD_CHANGE_NEEDED"
    message = "Choose a password of your own first."


class SecondFactorNeeded(AppError):
    status, code = 403, "SECOND_FACTOR_NEEDED"
    message = "Your role needs a second factor: set it up first."


class ConfirmationNeeded(AppError):
    status, code = 403, "CONFIRMATION_NEEDED"
    message = "Give your password again first."


class ForgedRequest(AppError):
    status, code = 403, "FORGED_REQUEST"
    message = "This form was not sent from a page of this service."


class StaleForm(ForgedRequest):
    message = "You have signed in again since you opened this form: what you sent was not saved."


class Gate:
    """Admits requests to the pages of one application."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._settings = runtime.settings
        self._policies = rate_limit.Policies(runtime.settings)

    def admit(self) -> None:
        """Check a request before its view runs; sets the person and the principal of the request.

        Raises:
            SignInNeeded, PasswordChangeNeeded, SecondFactorNeeded, ConfirmationNeeded: the person
                has to do this first.
            ForgedRequest: the request changes something and was not sent by an own page.
            MalformedRequest: the request names another host.
            LengthRequired: the body has no length, which no browser sends.
            InsufficientScope: the person's role lacks the scope of the page.
            RateLimitExceeded: the person has sent too many requests.
        """
        require_own_host(self._settings)
        view: Any = current_app.view_functions[str(request.endpoint)]
        is_public = getattr(view, "is_public", False)
        request.max_content_length = _MAX_PUBLIC_FORM_BYTES if is_public else _MAX_FORM_BYTES
        changes = request.method not in _SAFE_METHODS
        if "Transfer-Encoding" in request.headers:
            # What is longer than the limit would be cut off instead of refused.
            raise LengthRequired()
        if changes and not getattr(view, "is_from_anywhere", False):
            _check_origin(request, self._settings)
        if is_public:
            return
        person = self._person()
        g.person = person
        self._spend(person, str(getattr(view, "rate_policy", DEFAULT)))
        if changes:
            _check_token(request, person.token)
        scope: str = view.required_scope
        if person.must_change_password and scope != OWN_ACCOUNT:
            raise PasswordChangeNeeded()
        if person.must_add_second_factor and scope != OWN_ACCOUNT:
            raise SecondFactorNeeded()
        g.principal = _principal_of(person)
        limit_to(person.teams)
        check_scope(scope)
        # A proxy vouches for the person at each request.
        is_old = person.via is not Via.PROXY and utc_now() - person.confirmed_at > _CONFIRMED_FOR
        if scope in CONFIRMED_SCOPES and is_old:
            raise ConfirmationNeeded()

    def _person(self) -> Person:
        person = find_person(request, self._runtime)
        if person is None:
            raise SignInNeeded()
        if sessions.is_to_be_seen(person, self._settings):
            with self._runtime.db.writing() as session:
                sessions.note_seen(session, person.session_id)
        return person

    def _spend(self, person: Person, policy: str) -> None:
        visit = Visit(now=utc_now(), limits=self._policies.for_key(person.user_id, policy))
        try:
            admission = self._runtime.state.visit(visit)
        except StateUnavailable as error:
            logger.error("no request state, pages pass unlimited: %s", error)
            return
        if not admission.admitted:
            raise rate_limit.refuse(admission.limits)


def find_person(request: Request, runtime: Runtime) -> Person | None:
    """Return the person of the request's session cookie, if that session is valid."""
    token = SESSION.read(request, runtime.settings)
    if not token:
        return None
    with runtime.db.reading() as session:
        person = sessions.find(session, token, runtime.settings)
    if person is not None and person.via is Via.PROXY:
        # The proxy may have let in somebody else since, or not be between us any more.
        return person if proxy_user(request, runtime.settings) == person.name else None
    return person


def proxy_user(request: Request, settings: Settings) -> str:
    """Return the name of the person whom a trusted proxy has let in, or an empty text."""
    peer = peer_address(request)
    header = settings.proxy_user_header
    if not header or peer is None or not is_trusted(peer, settings.trusted_proxies):
        return ""
    return compared_name(request.headers.get(header, ""))


def current_person() -> Person:
    """Return the signed-in person of the current request."""
    person: Person = g.person
    return person


def current_actor(user_id: str | None = None) -> Actor:
    """Return who acts, for the audit trail: the person of this request, or who just signed in."""
    person: Person | None = g.get("person")
    return Actor(
        user_id=person.user_id if person else user_id,
        address=current_address(),
        request_id=request_id(),
    )


def current_address() -> str:
    """Return the client address of the current request, or an empty text."""
    return str(client_address(request, current_runtime().settings.trusted_proxies) or "")


def may_open(app: Flask, endpoint: str, person: Person) -> bool:
    """Return whether a person's role has the scope of an endpoint."""
    scope = getattr(app.view_functions[endpoint], "required_scope", None)
    return scope in person.scopes


def form_token(session_token: str) -> str:
    """Return the form token of a session, masked differently each time so that compression reveals nothing."""
    pad = secrets.token_bytes(_TOKEN_LENGTH)
    return base64.urlsafe_b64encode(pad + _xor(_token_of(session_token), pad)).decode()


def _principal_of(person: Person) -> Principal:
    # The least strict policies: a person may make keys of any policy, within the scopes of the role.
    return Principal(
        key_id=person.user_id,
        name=person.display_name,
        scopes=person.scopes,
        ip_allowlist=(),
        expires_at=None,
        signature_policy="optional",
        require_nonce=False,
        teams=person.teams,
    )


def _check_origin(request: Request, settings: Settings) -> None:
    """Refuse a request that another site, another port or no page has sent.

    Raises:
        ForgedRequest: Sec-Fetch-Site or Origin name another origin, or Origin is missing.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        raise ForgedRequest()
    own = {f"{own_scheme(request, settings)}://{request.host}"}
    if settings.public_url:
        public = urlsplit(settings.public_url)
        own.add(f"{public.scheme}://{public.netloc}")
    if request.headers.get("Origin") not in own:
        raise ForgedRequest()


def _check_token(request: Request, session_token: str) -> None:
    """Refuse a request without the form token of its session.

    Raises:
        StaleForm: it is missing, or of another session.
    """
    sent = request.headers.get(_TOKEN_HEADER) or request.form.get(_TOKEN_FIELD, "")
    try:
        masked = base64.urlsafe_b64decode(sent.encode())
    except (UnicodeEncodeError, binascii.Error):
        raise StaleForm() from None
    pad, hidden = masked[:_TOKEN_LENGTH], masked[_TOKEN_LENGTH:]
    if not hmac.compare_digest(_xor(hidden, pad), _token_of(session_token)):
        raise StaleForm()


def _token_of(session_token: str) -> bytes:
    return hmac.digest(session_token.encode(), _TOKEN_LABEL, hashlib.sha256)


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=False))
