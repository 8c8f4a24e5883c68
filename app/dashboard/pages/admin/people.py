"""People: accounts are created, given a role, reset and disabled by admins."""

from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.campaigns.service import CAMPAIGNS
from app.core.errors import Conflict
from app.dashboard import forms, responses
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pickers import teams_offered
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.people import passwords, second_factor, service, sessions
from app.people.audit import Action
from app.people.gate import current_person
from app.people.roles import MANAGE_PEOPLE, ROLES, VIEWER
from app.web.current import current_runtime
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Items, Reference, Text

blp = PageBlueprint("people", __name__, scope=MANAGE_PEOPLE)

Change = Callable[[Any, Any], object]
_LISTS = ("callCenterIds", "campaignIds")


class RoleForm(CamelSchema):
    """A role, and the teams that it is limited to."""

    role = Choice(list(ROLES), required=True)
    executive_id = Reference("exec")
    call_center_ids = Items(Reference("cc"), high=200)
    campaign_ids = Items(Reference("camp"), high=200)


class NewUserForm(RoleForm):
    name = Text(service.NAME_LENGTH, low=1, required=True)
    display_name = Text(service.NAME_LENGTH, load_default="")
    email = Text(service.EMAIL_LENGTH, load_default=None)


class EmailForm(CamelSchema):
    email = Text(service.EMAIL_LENGTH, load_default=None)


@blp.get("/people")
def list_page(*, issued: dict[str, str] | None = None) -> str:
    """Show every account, and the form for a new one."""
    if issued:
        responses.keep_uncompressed()
    with current_runtime().db.reading() as session:
        users = service.list_all(session)
        return render_template(
            "people/list.html",
            users=users,
            issued=issued,
            has_provider=bool(current_runtime().settings.oidc_issuer),
            typed={} if issued else request.form,
            **_teams(session, users, is_typed=not issued),
        )


@blp.post("/people")
@forms.shown_again(list_page, {Conflict: "name"})
def create() -> tuple[str, int]:
    """Create an account; the answer shows its one-time password, which nothing shows again."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    values = _loaded(NewUserForm())
    with current_runtime().db.writing() as session:
        user = service.create(session, **values, password_hash=password_hash)
        record(session, Action.USER_CREATED, user.id)
    return list_page(issued={"name": user.name, "password": password}), 201


@blp.get("/people/<id:user_id>")
def show(user_id: str, *, password: str = "") -> str:
    """Show one account with its sessions."""
    if password:
        responses.keep_uncompressed()
    runtime = current_runtime()
    with runtime.db.reading() as session:
        user = service.get(session, user_id)
        return render_template(
            "people/show.html",
            user=user,
            password=password,
            **_teams(session, [user], shown=user),
            own_sessions=sessions.list_of(session, user_id, runtime.settings),
        )


@blp.post("/people/<id:user_id>/password")
def reset_password(user_id: str) -> str:
    """Set a one-time password, which this answer alone shows."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    _change(
        user_id,
        Action.PASSWORD_RESET,
        lambda session, user: service.reset_password(session, user, password_hash),
    )
    return show(user_id, password=password)


@blp.post("/people/<id:user_id>/role")
@forms.shown_again(show)
def change_role(user_id: str) -> Response:
    """Give the person another role and other teams."""
    values = _loaded(RoleForm())
    _change(
        user_id,
        Action.ROLE_CHANGED,
        lambda session, user: service.change_role(session, user, **values),
    )
    return redirect_with("role-changed", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/email")
@forms.shown_again(show)
def change_email(user_id: str) -> Response:
    """Set or remove the address by which the provider and executives know the person."""
    email = forms.load(EmailForm(), request.form)["email"]
    _change(
        user_id,
        Action.EMAIL_CHANGED,
        lambda session, user: service.change_email(session, user, email),
    )
    return redirect_with("email-changed", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/second-factor/remove")
def remove_second_factor(user_id: str) -> Response:
    """Remove the second factor of a person who has lost it; their sessions end."""

    def remove(session: Session, user: Any) -> None:
        second_factor.remove(session, user.id)
        sessions.end_all(session, user.id)

    _change(user_id, Action.SECOND_FACTOR_REMOVED, remove)
    return redirect_with("second-factor-removed", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/disable")
def disable(user_id: str) -> Response:
    """Disable the account."""
    _change(user_id, Action.USER_DISABLED, service.disable)
    return redirect_with("user-disabled", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/enable")
def enable(user_id: str) -> Response:
    """Enable the account again."""
    _change(user_id, Action.USER_ENABLED, lambda _, user: service.enable(user))
    return redirect_with("user-enabled", "people.show", user_id=user_id)


@blp.post("/people/<id:user_id>/sign-out")
def sign_out(user_id: str) -> Response:
    """End every session of the person."""
    _change(user_id, Action.SESSION_ENDED, lambda session, user: sessions.end_all(session, user.id))
    return redirect_with("signed-out-elsewhere", "people.show", user_id=user_id)


def _loaded(schema: RoleForm) -> dict[str, Any]:
    """Load a form with its lists.

    Raises:
        InvalidInput: a value is invalid, or there is no such team.
    """
    lists = {name: request.form.getlist(name) for name in _LISTS}
    values = forms.load(schema, {**request.form, **lists})
    with current_runtime().db.reading() as session:
        EXECUTIVES.require(session, values.get("executive_id"))
        CALL_CENTERS.require_all(session, set(values["call_center_ids"]))
        CAMPAIGNS.require_all(session, set(values["campaign_ids"]))
    return values


def _teams(
    session: Session, users: Sequence[Any], *, shown: Any = None, is_typed: bool = True
) -> dict[str, Any]:
    """Return the teams to choose from, their names, and what the form of an account has chosen."""
    chosen: dict[str, Any] = {"role": VIEWER, "executiveId": "", **dict.fromkeys(_LISTS, ())}
    if is_typed and "role" in request.form:
        chosen |= {name: request.form.get(name, "") for name in ("role", "executiveId")}
        chosen |= {name: request.form.getlist(name) for name in _LISTS}
    elif shown:
        chosen |= {"role": shown.role, "executiveId": shown.executive_id or ""}
        chosen |= {"callCenterIds": shown.call_center_ids, "campaignIds": shown.campaign_ids}
    known = {
        "executiveId": {user.executive_id for user in users if user.executive_id},
        "callCenterIds": {key for user in users for key in user.call_center_ids},
        "campaignIds": {key for user in users for key in user.campaign_ids},
    }
    offered = teams_offered(session, known)
    return {"chosen": chosen, "offered": offered, "names": dict(ChainMap(*offered.values()))}


def _change(user_id: str, action: Action, change: Change) -> None:
    """Change the account of somebody else, and record it.

    Raises:
        Conflict: it is the account of the person who asks, or the last admin.
    """
    if user_id == current_person().user_id:
        raise Conflict("This is your own account: another admin can change it.")
    with audited(action, user_id) as session:
        change(session, service.get(session, user_id))
