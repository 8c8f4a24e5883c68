"""People: accounts are created, given a role, reset and disabled by admins."""

from collections.abc import Callable
from typing import Any

from flask import render_template, request
from werkzeug.wrappers import Response

from app.core.errors import Conflict
from app.dashboard import forms, responses
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited
from app.people import audit, passwords, service, sessions
from app.people.audit import Action
from app.people.gate import current_actor, current_person
from app.people.roles import MANAGE_PEOPLE, ROLES, VIEWER
from app.web.current import current_runtime
from app.web.principal import require_scope
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Text

blp = PageBlueprint("people", __name__)

Change = Callable[[Any, Any], object]


class NewUserForm(CamelSchema):
    """A new account."""

    name = Text(service.NAME_LENGTH, low=1, required=True)
    display_name = Text(service.NAME_LENGTH, load_default="")
    role = Choice(list(ROLES), required=True)


class RoleForm(CamelSchema):
    """Another role."""

    role = Choice(list(ROLES), required=True)


@blp.get("/people")
@require_scope(MANAGE_PEOPLE)
def list_page() -> str:
    """Show every account, and the form for a new one."""
    return _list()


@blp.post("/people")
@require_scope(MANAGE_PEOPLE)
@forms.shown_again(lambda: _list(), {Conflict: "name"})
def create() -> tuple[str, int]:
    """Create an account; the answer shows its one-time password, which nothing shows again."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    values = forms.load(NewUserForm(), request.form)
    with current_runtime().db.writing() as session:
        user = service.create(session, **values, password_hash=password_hash)
        audit.record(session, current_actor(), Action.USER_CREATED, user.id)
    return _list(issued={"name": user.name, "password": password}), 201


@blp.get("/people/<id:user_id>")
@require_scope(MANAGE_PEOPLE)
def show(user_id: str) -> str:
    """Show one account with its sessions."""
    return _show(user_id)


@blp.post("/people/<id:user_id>/password")
@require_scope(MANAGE_PEOPLE)
def reset_password(user_id: str) -> str:
    """Set a one-time password, which this answer alone shows."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    _change(
        user_id,
        Action.PASSWORD_RESET,
        lambda session, user: service.reset_password(session, user, password_hash),
    )
    return _show(user_id, password=password)


@blp.post("/people/<id:user_id>/role")
@require_scope(MANAGE_PEOPLE)
def change_role(user_id: str) -> Response:
    """Give the person another role."""
    role = forms.load(RoleForm(), request.form)["role"]
    _change(
        user_id,
        Action.ROLE_CHANGED,
        lambda session, user: service.change_role(session, user, role),
    )
    return redirect_with("role-changed", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/disable")
@require_scope(MANAGE_PEOPLE)
def disable(user_id: str) -> Response:
    """Disable the account."""
    _change(user_id, Action.USER_DISABLED, service.disable)
    return redirect_with("user-disabled", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/enable")
@require_scope(MANAGE_PEOPLE)
def enable(user_id: str) -> Response:
    """Enable the account again."""
    _change(user_id, Action.USER_ENABLED, lambda _, user: service.enable(user))
    return redirect_with("user-enabled", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/sign-out")
@require_scope(MANAGE_PEOPLE)
def sign_out(user_id: str) -> Response:
    """End every session of the person."""
    _change(user_id, Action.SESSION_ENDED, lambda session, user: sessions.end_all(session, user.id))
    return redirect_with("signed-out-elsewhere", "people.show", user_id=user_id)


def _change(user_id: str, action: Action, change: Change) -> None:
    """Change the account of somebody else, and record it.

    Raises:
        Conflict: it is the account of the person who asks, or the last admin.
    """
    if user_id == current_person().user_id:
        raise Conflict("This is your own account: another admin can change it.")
    with audited(action, user_id) as session:
        change(session, service.get(session, user_id))


def _list(*, issued: dict[str, str] | None = None) -> str:
    if issued:
        responses.keep_uncompressed()
    with current_runtime().db.reading() as session:
        users = service.list_all(session)
        return render_template(
            "people/list.html",
            users=users,
            issued=issued,
            typed={} if issued else request.form,
            default_role=VIEWER,
        )


def _show(user_id: str, *, password: str = "") -> str:
    if password:
        responses.keep_uncompressed()
    runtime = current_runtime()
    with runtime.db.reading() as session:
        user = service.get(session, user_id)
        return render_template(
            "people/show.html",
            user=user,
            roles=ROLES,
            password=password,
            own_sessions=sessions.list_of(session, user_id, runtime.settings),
        )
