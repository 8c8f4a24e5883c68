"""Sign-in, sign-out, and giving the password again before sensitive pages."""

from flask import g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.errors import AppError, InvalidInput, RateLimitExceeded, ServiceUnavailable
from app.dashboard.blueprint import PageBlueprint, public
from app.dashboard.forms import redirect_with
from app.dashboard.navigation import own_path
from app.dashboard.pages.audited import audited
from app.people import attempts, audit, service, sessions
from app.people.audit import Action
from app.people.cookies import SESSION
from app.people.gate import current_actor, current_address, current_person, find_person
from app.people.passwords import SIGN_INS, verify_password
from app.people.roles import OWN_ACCOUNT
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("sign_in", __name__)

Answer = str | Response | tuple[str, int] | tuple[str, int, dict[str, str]]
_WRONG = "This name and password do not belong together, or the account is disabled."
# Reasons why a password is not checked; the form shows them.
_REFUSALS = (InvalidInput, RateLimitExceeded, ServiceUnavailable)


@blp.get("/sign-in")
@public
def form() -> Answer:
    """Show the form, or go on where somebody has signed in."""
    if find_person(request, current_runtime()) is not None:
        return redirect(_next(), 303)
    return _form()


@blp.post("/sign-in")
@public
def submit() -> Answer:
    """Sign in, and go to the page that was asked for; a former session of this browser ends."""
    runtime = current_runtime()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        attempts.spend_sign_in(name)
        with runtime.db.reading() as session:
            user = service.find_active(session, name)
            known_hash = user.password_hash if user else None
        is_right = verify_password(password, known_hash, SIGN_INS)
    except _REFUSALS as error:
        page = _form(name=name, problem=error.message, status=error.status)
        return *page, _retry_headers(error)
    with runtime.db.writing() as session:
        # Read again: the password may have been reset meanwhile.
        user = service.find_active(session, name)
        if user is None or not is_right or user.password_hash != known_hash:
            audit.record(session, current_actor(), Action.SIGN_IN_FAILED, user.id if user else None)
            token = ""
        else:
            former_id = sessions.end_of_browser(session, SESSION.read(request, runtime.settings))
            if former_id is not None:
                audit.record(session, current_actor(user.id), Action.SESSION_ENDED, former_id)
            token = service.sign_in(
                session, user, address=current_address(), browser=request.user_agent.string
            )
            audit.record(session, current_actor(user.id), Action.SIGNED_IN, user.id)
    if not token:
        return _form(name=name, problem=_WRONG, status=401)
    response = redirect(_next(), 303)
    SESSION.write(
        response, request, runtime.settings, token, max_age=runtime.settings.session_max_s
    )
    attempts.remember_browser(response, name)
    return response


@blp.post("/sign-out")
@require_scope(OWN_ACCOUNT)
def sign_out() -> Answer:
    """End the session of this browser."""
    person, runtime = current_person(), current_runtime()
    with audited(Action.SIGNED_OUT, person.user_id) as session:
        sessions.end(session, person.session_id, user_id=person.user_id)
    response = redirect_with("signed-out", "sign_in.form")
    SESSION.clear(response, request, runtime.settings)
    # What a form has kept for being sent again.
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


@blp.get("/confirm")
@require_scope(OWN_ACCOUNT)
def confirmation() -> Answer:
    """Ask for the password again."""
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
        return *page, _retry_headers(error)
    if not is_right:
        with runtime.db.writing() as session:
            audit.record(session, current_actor(), Action.SIGN_IN_FAILED, person.user_id)
        return _confirmation(problem="This is not your password.", status=401)
    with runtime.db.writing() as session:
        sessions.confirm(session, person.session_id)
    return redirect(_next(), 303)


def _form(*, name: str = "", problem: str = "", status: int = 200) -> tuple[str, int]:
    g.person = None
    page = render_template("sign_in/form.html", name=name, problem=problem, action=_action("form"))
    return page, status


def _confirmation(*, problem: str = "", status: int = 200) -> tuple[str, int]:
    page = render_template("sign_in/confirm.html", problem=problem, action=_action("confirmation"))
    return page, status


def _retry_headers(error: AppError) -> dict[str, str]:
    return {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}


def _action(endpoint: str) -> str:
    """Return the address that a form is sent to; it keeps the page that was asked for."""
    path = request.args.get("next")
    return url_for(f".{endpoint}", next=own_path(path) if path else None)


def _next() -> str:
    return own_path(request.args.get("next", "/"))
