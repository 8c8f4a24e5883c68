"""Steps that every way to sign in shares: the page, and the start of a session."""

from typing import Any

from flask import g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.clock import utc_now
from app.core.errors import AppError
from app.core.settings import ALL
from app.dashboard.navigation import own_path
from app.people import audit, sessions
from app.people.audit import Action
from app.people.cookies import PENDING, SESSION
from app.people.gate import current_actor, current_address
from app.web.current import current_runtime


def start_session(session: Any, user: Any, **of_session: Any) -> str:
    """Start a session of a user who was verified; a former one of this browser ends.

    Returns the value of its cookie.
    """
    former = SESSION.read(request, current_runtime().settings)
    former_id = sessions.end_of_browser(session, former)
    if former_id is not None:
        audit.record(session, current_actor(user.id), Action.SESSION_ENDED, former_id)
    audit.record(session, current_actor(user.id), Action.SIGNED_IN, user.id)
    user.signed_in_at = utc_now()
    return sessions.start(
        session,
        user.id,
        address=current_address(),
        browser=request.user_agent.string,
        **of_session,
    )


def answer_with(token: str, path: str) -> Response:
    settings = current_runtime().settings
    response = redirect(own_path(path), 303)
    SESSION.write(response, request, settings, token, max_age=settings.session_max_s)
    if PENDING.read(request, settings):
        PENDING.clear(response, request, settings)
    return response


def next_path() -> str:
    """Return the page that was asked for before the sign-in."""
    return own_path(request.args.get("next", "/"))


def sign_in_page(*, name: str = "", problem: str = "", status: int = 200) -> tuple[str, int]:
    """Return the page with the ways to sign in; with a problem, those are offered again."""
    settings = current_runtime().settings
    g.person = None
    has_form = settings.password_sign_in == ALL or "password" in request.args or bool(name)
    page = render_template(
        "sign_in/form.html",
        name=name,
        problem=problem,
        action=address_with_next("sign_in.form"),
        provider_url=address_with_next("provider.begin") if settings.oidc_issuer else "",
        has_form=has_form,
        has_others=bool(settings.oidc_issuer or settings.proxy_user_header),
    )
    return page, status


def address_with_next(endpoint: str) -> str:
    """Return an address of the sign-in; it keeps the page that was asked for."""
    path = request.args.get("next")
    return url_for(f"dashboard.{endpoint}", next=own_path(path) if path else None)


def retry_headers(error: AppError) -> dict[str, str]:
    """Return the headers of an answer that asks to try again later."""
    return {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
