"""Settings of the signed-in person: password, name, time zone, appearance and sessions."""

from flask import render_template, request
from marshmallow import validate
from werkzeug.wrappers import Response

from app.core.errors import InvalidInput, RateLimitExceeded
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_to, redirect_with
from app.dashboard.navigation import own_path
from app.dashboard.pages.audited import audited, record
from app.people import attempts, passwords, service, sessions
from app.people.audit import Action
from app.people.gate import current_person
from app.people.roles import OWN_ACCOUNT
from app.web.current import current_runtime
from app.web.schemas.base import ENUM, CamelSchema, CodedMessage
from app.web.schemas.fields import Choice, Text, zone_names

blp = PageBlueprint("account", __name__, scope=OWN_ACCOUNT)

_THEMES = ("system", "light", "dark")
_SWITCH = ("on", "off")
_ZONES = tuple(sorted(zone_names()))


class ProfileForm(CamelSchema):
    """Form of a person's own settings."""

    display_name = Text(service.NAME_LENGTH, low=1, required=True)
    timezone = Text(
        64,
        required=True,
        validate=validate.OneOf(
            _ZONES, error=CodedMessage(ENUM, "Choose a time zone from the list.")
        ),
    )
    theme = Choice(_THEMES, required=True)
    letter_keys = Choice(_SWITCH, required=True)


@blp.get("/settings")
def show() -> str:
    """Show the settings; before the first own password, only the form for that."""
    person, runtime = current_person(), current_runtime()
    with runtime.db.reading() as session:
        own_sessions = sessions.list_of(session, person.user_id, runtime.settings)
    return render_template(
        "account/show.html",
        own_sessions=own_sessions,
        zones=_ZONES,
        display_name=request.form.get("displayName", person.display_name),
        timezone=request.form.get("timezone", person.timezone),
    )


@blp.post("/settings")
@forms.shown_again(show)
def save() -> Response:
    """Store name, time zone and appearance."""
    changes = forms.load(ProfileForm(), request.form)
    with current_runtime().db.writing() as session:
        service.change_profile(
            service.get(session, current_person().user_id),
            display_name=changes["display_name"],
            timezone=changes["timezone"],
            preferences={"theme": changes["theme"], "letterKeys": changes["letter_keys"] == "on"},
        )
    return redirect_with("saved", "account.show")


@blp.post("/settings/password")
@forms.shown_again(show, {RateLimitExceeded: "current"})
def change_password() -> Response:
    """Change the password; every other session of the person ends."""
    person, runtime = current_person(), current_runtime()
    current, new = request.form.get("current", ""), request.form.get("new", "")
    attempts.spend_of_session(person.session_id)
    with runtime.db.reading() as session:
        known_hash = service.get(session, person.user_id).password_hash
    _check_passwords(person.name, current, new, known_hash)
    new_hash = passwords.hash_password(new)
    with runtime.db.writing() as session:
        user = service.get(session, person.user_id)
        service.change_password(session, user, new_hash, keep=person.session_id)
        record(session, Action.PASSWORD_CHANGED, user.id)
    first = person.must_change_password
    if first and "next" in request.args:
        return redirect_to(own_path(request.args["next"]), "password-changed")
    return redirect_with("password-changed", "overview.show" if first else "account.show")


@blp.post("/settings/sessions/<id:session_id>/end")
def end_session(session_id: str) -> Response:
    """End another session of the person."""
    with audited(Action.SESSION_ENDED, session_id) as session:
        sessions.end(session, session_id, user_id=current_person().user_id)
    return redirect_with("session-ended", "account.show")


def _check_passwords(name: str, current: str, new: str, known_hash: str) -> None:
    if not passwords.verify_password(current, known_hash):
        raise InvalidInput.field("current", "This is not your password.")
    if new == current:
        raise InvalidInput.field("new", "Choose a password other than the one before.")
    if problem := passwords.problem_with(new, name):
        raise InvalidInput.field("new", problem)
    if new != request.form.get("repeated", ""):
        raise InvalidInput.field("repeated", "The two passwords differ: repeat the new one.")
