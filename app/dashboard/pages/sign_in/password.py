"""Sign-in, sign-out, and giving the password again before sensitive pages."""

from typing import Any

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.errors import InvalidInput, RateLimitExceeded, ServiceUnavailable
from app.core.settings import ALL
from app.dashboard.blueprint import PageBlueprint, public
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pages.sign_in.second_factor import ask_for_code
from app.dashboard.pages.sign_in.shared import (
    address_with_next,
    answer_with,
    next_path,
    retry_headers,
    sign_in_page,
    start_session,
)
from app.people import attempts, service, sessions
from app.people.audit import Action
from app.people.cookies import SESSION
from app.people.gate import current_person, find_person, proxy_user
from app.people.passwords import SIGN_INS, verify_password
from app.people.roles import ADMIN, OWN_ACCOUNT
from app.people.sessions import Via
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("sign_in", __name__)

Answer = str | Response | tuple[str, int] | tuple[str, int, dict[str, str]]
_UNKNOWN_TO_US = "The proxy has let you in, but you have no account here: ask an admin."
_WRONG = "This name and password do not belong together, or the account is disabled."
# Reasons why a password is not checked; the form shows them.
_REFUSALS = (InvalidInput, RateLimitExceeded, ServiceUnavailable)


@blp.get("/sign-in")
@public
def form() -> Answer:
    """Show the ways to sign in, or go on where somebody has signed in, here or at the proxy."""
    runtime = current_runtime()
    if find_person(request, runtime) is not None:
        return redirect(next_path(), 303)
    name = proxy_user(request, runtime.settings)
    return _from_proxy(name) if name else sign_in_page()


@blp.post("/sign-in")
@public
def submit() -> Answer:
    """Sign in, or ask for the second factor; a former session of this browser ends."""
    runtime = current_runtime()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        attempts.spend_sign_in(name)
        with runtime.db.reading() as session:
            user = _with_password(session, name)
            known_hash = user.password_hash if user else None
        is_right = verify_password(password, known_hash, SIGN_INS)
    except _REFUSALS as error:
        page = sign_in_page(name=name, problem=error.message, status=error.status)
        return *page, retry_headers(error)
    with runtime.db.writing() as session:
        # Read again: the password may have been reset meanwhile.
        user = _with_password(session, name)
        if user is None or not is_right or user.password_hash != known_hash:
            found = service.find_active(session, name)
            failed_id = found.id if found else None
            record(session, Action.SIGN_IN_FAILED, failed_id)
            token = ""
        elif user.totp_secret is not None:
            return ask_for_code(user, next_path())
        else:
            token = start_session(session, user)
    if not token:
        return sign_in_page(name=name, problem=_WRONG, status=401)
    response = answer_with(token, next_path())
    attempts.remember_browser(response, name)
    return response


def _with_password(session: Any, name: str) -> Any:
    """Return the user of a name who may sign in with a password, or None."""
    user = service.find_active(session, name)
    if user is None or not user.password_hash:
        return None
    may_use_it = current_runtime().settings.password_sign_in == ALL or user.role == ADMIN
    return user if may_use_it else None


def _from_proxy(name: str) -> Answer:
    """Sign in the person whom a trusted proxy has let in."""
    with current_runtime().db.writing() as session:
        user = service.find_active(session, name)
        if user is None:
            record(session, Action.SIGN_IN_FAILED)
            token = ""
        else:
            token = start_session(session, user, via=Via.PROXY)
    if not token:
        return sign_in_page(problem=_UNKNOWN_TO_US, status=403)
    return answer_with(token, next_path())


@blp.post("/sign-out")
@require_scope(OWN_ACCOUNT)
def sign_out() -> Answer:
    """End the session of this browser."""
    person, runtime = current_person(), current_runtime()
    with audited(Action.SIGNED_OUT, person.user_id) as session:
        sessions.end(session, person.session_id, user_id=person.user_id)
    is_of_provider = person.via is Via.PROVIDER
    response = (
        redirect(url_for("dashboard.provider.signed_out"), 303)
        if is_of_provider
        else redirect_with("signed-out", "sign_in.form")
    )
    SESSION.clear(response, request, runtime.settings)
    # What a form has kept for being sent again.
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


@blp.get("/confirm")
@require_scope(OWN_ACCOUNT)
def confirmation() -> Answer:
    """Ask for the password again, or have the provider ask."""
    if current_person().via is Via.PROVIDER:
        return redirect(url_for("dashboard.provider.begin", again=1, next=next_path()), 303)
    return _confirmation()


@blp.post("/confirm")
@require_scope(OWN_ACCOUNT)
def confirm() -> Answer:
    """Check the password, and go to the page that was asked for."""
    person, runtime = current_person(), current_runtime()
    try:
        attempts.spend_of_session(person.session_id)
        with runtime.db.reading() as session:
            known_hash = service.get(session, person.user_id).password_hash
        is_right = verify_password(request.form.get("password", ""), known_hash)
    except _REFUSALS as error:
        page = _confirmation(problem=error.message, status=error.status)
        return *page, retry_headers(error)
    if not is_right:
        with runtime.db.writing() as session:
            record(session, Action.SIGN_IN_FAILED, person.user_id)
        return _confirmation(problem="This is not your password.", status=401)
    with runtime.db.writing() as session:
        sessions.confirm(session, person.session_id)
    return redirect(next_path(), 303)


def _confirmation(*, problem: str = "", status: int = 200) -> tuple[str, int]:
    page = render_template(
        "sign_in/confirm.html", problem=problem, action=address_with_next("sign_in.confirmation")
    )
    return page, status
