"""Second factor: asked for at the sign-in, and set up, renewed and removed in the settings."""

import hashlib
from collections.abc import Sequence
from typing import Any

import segno
from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.errors import AppError, Conflict, InvalidInput, RateLimitExceeded, ServiceUnavailable
from app.core.secrets.encryption import UnknownMasterKey
from app.dashboard import forms, responses
from app.dashboard.blueprint import PageBlueprint, public
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import record
from app.dashboard.pages.sign_in.shared import (
    address_with_next,
    answer_with,
    next_path,
    retry_headers,
    start_session,
)
from app.people import attempts, audit, passwords, second_factor, service
from app.people.audit import Action
from app.people.cookies import read_pending, write_pending
from app.people.gate import current_actor, current_person
from app.people.roles import OWN_ACCOUNT
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("second_factor", __name__)

_STEP = "second factor"
Answer = str | Response | tuple[str, int] | tuple[str, int, dict[str, str]]
_WRONG = "This code is wrong, too old, or was used already."


def ask_for_code(user: Any, path: str) -> Response:
    """Lead a person whose password was right to the form for the second factor."""
    response = redirect(url_for("dashboard.second_factor.code_form", next=path), 303)
    values = {"user_id": user.id, "password": _digest(user.password_hash)}
    write_pending(response, request, current_runtime(), _STEP, values)
    return response


@blp.get("/sign-in/code")
@public
def code_form() -> Answer:
    """Ask for the code of the app, or a recovery code."""
    if read_pending(request, current_runtime(), _STEP) is None:
        return redirect(address_with_next("sign_in.form"), 303)
    return _code_form()


@blp.post("/sign-in/code")
@public
def give_code() -> Answer:
    """Check the code, and sign in."""
    runtime = current_runtime()
    pending = read_pending(request, runtime, _STEP)
    if pending is None:
        return redirect(address_with_next("sign_in.form"), 303)
    user_id = pending["user_id"]
    try:
        attempts.spend_second_factor(user_id)
    except (RateLimitExceeded, ServiceUnavailable) as error:
        return _code_form(error)
    with runtime.db.writing() as session:
        user = service.get(session, user_id)
        is_current = user.disabled_at is None and _digest(user.password_hash) == pending["password"]
        code = request.form.get("code", "")
        used = second_factor.accept(session, runtime.keyring, user_id, code) if is_current else None
        if used == "recovery":
            audit.record(session, current_actor(user_id), Action.RECOVERY_CODE_USED, user_id)
        if used is None:
            record(session, Action.SIGN_IN_FAILED, user_id)
        else:
            token, name = start_session(session, user), user.name
    if used is None:
        return _code_form(InvalidInput(_WRONG))
    response = answer_with(token, next_path())
    attempts.remember_browser(response, name)
    return response


@blp.get("/settings/second-factor")
@require_scope(OWN_ACCOUNT)
def show(*, codes: list[str] | None = None, has_factor: bool = False) -> str:
    """Show the code to scan, or that there is a second factor and how to renew it."""
    person, runtime = current_person(), current_runtime()
    responses.keep_uncompressed()
    # The one that was scanned already, where the form is shown again.
    secret = _sent_secret() or second_factor.new_secret()
    matrix = segno.make(second_factor.address_of(secret, person.name), error="m").matrix
    return render_template(
        "account/second_factor.html",
        has_factor=has_factor or person.has_second_factor,
        is_required=person.role in runtime.settings.second_factor_roles,
        codes=codes or [],
        secret=secret,
        sealed=second_factor.seal(runtime.keyring, person.user_id, secret),
        width=len(matrix),
        path=_path_of(matrix),
    )


@blp.post("/settings/second-factor")
@require_scope(OWN_ACCOUNT)
@forms.shown_again(show, {RateLimitExceeded: "password"})
def add() -> Answer:
    """Add the app whose code was typed; the answer shows the recovery codes, which nothing shows again."""
    person, runtime = current_person(), current_runtime()
    if person.has_second_factor:
        raise Conflict("You have a second factor already: remove it first.")
    _check_password()
    secret = _sent_secret()
    if secret is None:
        raise InvalidInput.field("code", "Scan the new code, and type what the app shows.")
    with runtime.db.writing() as session:
        codes = second_factor.add(
            session, runtime.keyring, person.user_id, secret, request.form.get("code", "")
        )
        record(session, Action.SECOND_FACTOR_SET, person.user_id)
    return show(codes=codes, has_factor=True)


@blp.post("/settings/second-factor/codes")
@require_scope(OWN_ACCOUNT)
@forms.shown_again(show, {RateLimitExceeded: "password"})
def renew_codes() -> Answer:
    """Make new recovery codes, which this answer alone shows."""
    person, runtime = current_person(), current_runtime()
    _check_password()
    attempts.spend_second_factor(person.user_id)
    with runtime.db.writing() as session:
        _use_code(session)
        codes = second_factor.renew_codes(session, person.user_id)
        record(session, Action.RECOVERY_CODES_MADE, person.user_id)
    return show(codes=codes)


@blp.post("/settings/second-factor/remove")
@require_scope(OWN_ACCOUNT)
@forms.shown_again(show, {RateLimitExceeded: "password"})
def remove() -> Answer:
    """Remove the second factor, unless the role needs one."""
    person, runtime = current_person(), current_runtime()
    if person.role in runtime.settings.second_factor_roles:
        raise Conflict("Your role needs a second factor; an admin can remove it for a new one.")
    _check_password()
    attempts.spend_second_factor(person.user_id)
    with runtime.db.writing() as session:
        _use_code(session)
        second_factor.remove(session, person.user_id)
        record(session, Action.SECOND_FACTOR_REMOVED, person.user_id)
    return redirect_with("second-factor-removed", "account.show")


def _check_password() -> None:
    person, runtime = current_person(), current_runtime()
    attempts.spend_of_session(person.session_id)
    with runtime.db.reading() as session:
        known_hash = service.get(session, person.user_id).password_hash
    if not known_hash:
        raise Conflict("You sign in with the provider, which asks for a second factor itself.")
    if not passwords.verify_password(request.form.get("password", ""), known_hash):
        raise InvalidInput.field("password", "This is not your password.")


def _use_code(session: Any) -> None:
    person, keyring = current_person(), current_runtime().keyring
    code = request.form.get("code", "")
    if second_factor.accept(session, keyring, person.user_id, code) is None:
        raise InvalidInput.field("code", _WRONG)


def _sent_secret() -> str | None:
    """Return the secret that the form has sent back; None if it is not one of ours."""
    sealed = request.form.get("secret", "")
    try:
        return second_factor.unseal(current_runtime().keyring, current_person().user_id, sealed)
    except (UnknownMasterKey, ValueError):
        return None


def _code_form(error: AppError | None = None) -> Answer:
    page = render_template(
        "sign_in/code.html",
        problem=error.message if error else "",
        action=address_with_next("second_factor.give_code"),
    )
    if error is None:
        return page
    return page, 401 if isinstance(error, InvalidInput) else error.status, retry_headers(error)


def _path_of(matrix: Sequence[Sequence[int]]) -> str:
    """Return the dark squares of a QR code as the path of a picture."""
    return "".join(
        f"M{x},{y}h1v1h-1z"
        for y, row in enumerate(matrix)
        for x, is_dark in enumerate(row)
        if is_dark
    )


def _digest(password_hash: str) -> str:
    return hashlib.sha256(password_hash.encode()).hexdigest()
