"""Admission: finds the person of a request to a page, and checks what they may do there."""

import logging
from datetime import timedelta
from typing import Any

from flask import Flask, Request, current_app, g, request

from app.core.clock import utc_now
from app.core.errors import AppError
from app.core.principal import Principal
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Visit
from app.core.runtime import Runtime
from app.people import sessions
from app.people.audit import Actor
from app.people.gate import cookie, forgery
from app.people.roles import CONFIRMED_SCOPES, OWN_ACCOUNT, ROLES
from app.people.sessions import Person
from app.web import rate_limit
from app.web.addresses import client_address
from app.web.current import current_runtime
from app.web.principal import DEFAULT, check_scope
from app.web.request_record import request_id

logger = logging.getLogger(__name__)

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_FORM_BYTES = 1024 * 1024
_CONFIRMED_FOR = timedelta(minutes=10)


class SignInNeeded(AppError):
    status, code = 401, "SIGN_IN_NEEDED"
    message = "Your session has ended: sign in again."


class PasswordChangeNeeded(AppError):
    status, code = 403, "PASSWORD_CHANGE_NEEDED"
    message = "Choose a password of your own first."


class ConfirmationNeeded(AppError):
    status, code = 403, "CONFIRMATION_NEEDED"
    message = "Give your password again first."


class Gate:
    """Admits requests to the pages of one application."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._settings = runtime.settings
        self._policies = rate_limit.Policies(runtime.settings)

    def admit(self) -> None:
        """Check a request before its view runs; sets the person and the principal of the request.

        Raises:
            SignInNeeded, PasswordChangeNeeded, ConfirmationNeeded: the person has to do this first.
            ForgedRequest: the request changes something and was not sent by an own page.
            InsufficientScope: the person's role lacks the scope of the page.
            RateLimitExceeded: the person has sent too many requests.
        """
        view: Any = current_app.view_functions[str(request.endpoint)]
        request.max_content_length = _MAX_FORM_BYTES
        changes = request.method not in _SAFE_METHODS
        if changes:
            forgery.check_origin(request, self._settings)
        if getattr(view, "is_public", False):
            return
        person = self._person()
        g.person = person
        self._spend(person, str(getattr(view, "rate_policy", DEFAULT)))
        if changes:
            forgery.check_token(request, person.token)
        scope: str = view.required_scope
        if person.must_change_password and scope != OWN_ACCOUNT:
            raise PasswordChangeNeeded()
        g.principal = _principal_of(person)
        check_scope(scope)
        if scope in CONFIRMED_SCOPES and utc_now() - person.confirmed_at > _CONFIRMED_FOR:
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
    token = cookie.read(request, runtime.settings)
    if not token:
        return None
    with runtime.db.reading() as session:
        return sessions.find(session, token, runtime.settings)


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
    address = client_address(
        request.environ.get("REMOTE_ADDR", ""),
        request.headers.get("X-Forwarded-For", ""),
        current_runtime().settings.trusted_proxies,
    )
    return str(address or "")


def may_open(app: Flask, endpoint: str, person: Person) -> bool:
    """Whether a person's role has the scope of an endpoint."""
    scope = getattr(app.view_functions[endpoint], "required_scope", None)
    return scope in ROLES[person.role]


def _principal_of(person: Person) -> Principal:
    # The least strict policies: a person may make keys of any policy, within the scopes of the role.
    return Principal(
        key_id=person.user_id,
        name=person.display_name,
        scopes=ROLES[person.role],
        ip_allowlist=(),
        expires_at=None,
        signature_policy="optional",
        require_nonce=False,
    )
