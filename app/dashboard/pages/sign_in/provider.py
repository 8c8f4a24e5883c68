"""Sign-in with the provider: to it and back, and single sign-out in both directions."""

import hmac

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.errors import AppError, NotFound, RateLimitExceeded, ServiceUnavailable
from app.core.settings import Settings
from app.dashboard.blueprint import PageBlueprint, from_anywhere, public
from app.dashboard.pages.audited import record
from app.dashboard.pages.sign_in.shared import (
    answer_with,
    next_path,
    retry_headers,
    sign_in_page,
    start_session,
)
from app.directory.service import CALL_CENTERS
from app.people import attempts, audit, sessions
from app.people.audit import Action
from app.people.cookies import read_pending, write_pending
from app.people.gate import current_actor
from app.people.oidc.accounts import Identity, admit, find_by_subject
from app.people.oidc.provider import Flow, ProviderAway, SignInRefused, provider_of
from app.people.sessions import Via
from app.web.addresses import public_address
from app.web.current import current_runtime

blp = PageBlueprint("provider", __name__)

_STEP = "provider"
Answer = Response | tuple[str, int] | tuple[str, int, dict[str, str]]


@blp.get("/sign-in/provider")
@public
def begin() -> Answer:
    """Send the browser to the provider; with `again`, to prove once more who they are."""
    runtime = current_runtime()
    flow = Flow.begin(next_path(), again="again" in request.args)
    try:
        url = provider_of(_settings()).authorization_url(flow, _redirect_uri())
    except AppError as error:
        return _refuse(error)
    response = redirect(url, 303)
    write_pending(response, request, runtime, _STEP, flow.as_document())
    return response


@blp.get("/sign-in/provider/back")
@public
def back() -> Answer:
    """Sign in whom the provider sends back, if it was asked to by this browser a moment ago."""
    provider, runtime = provider_of(_settings()), current_runtime()
    try:
        attempts.spend_provider_sign_in()
        flow = _begun()
        claims = provider.claims(flow, request.args.get("code", ""), _redirect_uri())
        identity = Identity.of(claims, runtime.settings.oidc_groups_claim)
        with runtime.db.writing() as session:
            user = admit(
                session,
                identity,
                runtime.settings,
                lambda name: CALL_CENTERS.ids_of_names(session, [name]).get(name),
                current_actor(),
            )
            token = start_session(
                session,
                user,
                via=Via.PROVIDER,
                confirmed_at=identity.authenticated_at,
                provider_session=identity.session_id,
            )
    except AppError as error:
        return _refuse(error)
    return answer_with(token, flow.path)


@blp.get("/sign-in/signed-out")
@public
def signed_out() -> Answer:
    """Lead on to the provider, which signs the person out of everything else."""
    try:
        back_to = f"{public_address(_settings())}{url_for('dashboard.sign_in.form')}"
        url = provider_of(_settings()).sign_out_url(back_to)
    except ProviderAway:
        url = None
    if url is None:
        return redirect(url_for("dashboard.sign_in.form", notice="signed-out"), 303)
    # A redirect after the form would be refused by the policy of our pages.
    return render_template("sign_in/signed_out.html", url=url), 200, {"Refresh": f"0; url={url}"}


@blp.post("/sign-in/provider/signed-out")
@public
@from_anywhere
def end_sessions() -> Answer:
    """End the sessions of a person who has signed out at the provider, or was disabled there."""
    runtime, settings = current_runtime(), _settings()
    token = request.form.get("logout_token", "")
    try:
        subject, session_id, before = provider_of(settings).ended_sessions(token)
    except SignInRefused as error:
        return error.message, 400
    with runtime.db.writing() as session:
        user = subject and find_by_subject(session, provider_of(settings).issuer, subject)
        for user_id in sessions.end_of_provider(
            session,
            user_id=user.id if user else None,
            provider_session=session_id,
            before=before,
        ):
            audit.record(session, current_actor(user_id), Action.SESSION_ENDED, user_id)
    return "", 200


def _begun() -> Flow:
    """Return the sign-in that this browser has begun, once.

    Raises:
        SignInRefused: there is none, the answer is to another one, or the provider says no.
    """
    document = read_pending(request, current_runtime(), _STEP)
    state = request.args.get("state", "")
    if document is None or not hmac.compare_digest(document["state"].encode(), state.encode()):
        raise SignInRefused("This sign-in has ended, or was begun in another browser: begin again.")
    if "error" in request.args:
        raise SignInRefused("The provider did not let you in.")
    if not attempts.use_up(state):
        raise SignInRefused("This sign-in has ended: begin again.")
    return Flow(**document)


def _refuse(error: AppError) -> Answer:
    """Show the ways to sign in again; the audit trail records a refused sign-in."""
    if not isinstance(error, RateLimitExceeded | ServiceUnavailable):
        with current_runtime().db.writing() as session:
            record(session, Action.SIGN_IN_FAILED)
    return *sign_in_page(problem=error.message, status=error.status), retry_headers(error)


def _settings() -> Settings:
    settings = current_runtime().settings
    if not settings.oidc_issuer:
        raise NotFound()
    return settings


def _redirect_uri() -> str:
    return f"{public_address(_settings())}{url_for('dashboard.provider.back')}"
