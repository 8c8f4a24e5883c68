"""Command group `users`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from sqlalchemy.orm import Session

from app.core.clock import iso_utc
from app.core.commands import COMMAND, errors_as_messages
from app.core.errors import NotFound
from app.people import audit, passwords, second_factor, service, sessions
from app.people.audit import COMMAND_LINE, Action
from app.people.models import User
from app.people.roles import ROLES
from app.web.current import current_runtime

_ROLE = click.Choice(list(ROLES))


def _team_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, target, text in reversed(_TEAM_OPTIONS):
        multiple = target != "executive_id"
        command = click.option(name, target, metavar="ID", multiple=multiple, help=text)(command)
    return command


_TEAM_OPTIONS = (
    ("--executive", "executive_id", "Of an agent: whose conversations they see."),
    ("--call-center", "call_center_ids", "Call centre that a reviewer or lead sees. Default: all."),
    ("--campaign", "campaign_ids", "Campaign that a reviewer or lead sees. Default: all."),
)


@click.group("users")
def users() -> None:
    """Create, list and change the people who use the dashboard."""


@users.command("create")
@click.argument("name")
@click.option("--role", type=_ROLE, required=True, help="What the person may do.")
@click.option("--display-name", default="", help="Name that others see. Default: NAME.")
@click.option("--email", help="Address by which the sign-in provider knows the person.")
@_team_options
def create(name: str, role: str, display_name: str, email: str | None, **teams: Any) -> None:
    """Create a user and print a one-time password. It is not shown again."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    with errors_as_messages(), current_runtime().db.writing() as session:
        user = service.create(
            session,
            name=name,
            role=role,
            display_name=display_name,
            email=email,
            password_hash=password_hash,
            **teams,
        )
        audit.record(session, COMMAND_LINE, Action.USER_CREATED, user.id)
    _print_password(user, password)


@users.command("list")
def list_() -> None:
    """List the users with their role and last sign-in."""
    with current_runtime().db.reading() as session:
        for user in service.list_all(session):
            signed_in = iso_utc(user.signed_in_at) if user.signed_in_at else "never signed in"
            state = "disabled" if user.disabled_at else "active"
            click.echo(f"{user.name:24}  {user.role:8}  {state:8}  {signed_in}")


@users.command("reset")
@click.argument("name")
def reset(name: str) -> None:
    """Print a new one-time password for NAME and end the sessions of that user."""
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    with _changed(name, Action.PASSWORD_RESET) as (session, user):
        service.reset_password(session, user, password_hash)
    _print_password(user, password)


@users.command("role")
@click.argument("name")
@click.argument("role", type=_ROLE)
@_team_options
def role(name: str, role: str, **teams: Any) -> None:
    """Give NAME another role, and limit it to these teams, from the next request on."""
    with _changed(name, Action.ROLE_CHANGED) as (session, user):
        service.change_role(session, user, role, **teams)
    click.echo(f"{user.name} is {role} now.")


@users.command("email")
@click.argument("name")
@click.argument("address", required=False)
def email(name: str, address: str | None) -> None:
    """Set the e-mail address of NAME, by which the sign-in provider knows them; without one, remove it."""
    with _changed(name, Action.EMAIL_CHANGED) as (session, user):
        service.change_email(session, user, address)
    click.echo(f"{user.name} has {user.email or 'no address'} now.")


@users.command("remove-second-factor")
@click.argument("name")
def remove_second_factor(name: str) -> None:
    """Remove the second factor of NAME, who has lost it, and end their sessions."""
    with _changed(name, Action.SECOND_FACTOR_REMOVED) as (session, user):
        second_factor.remove(session, user.id)
        sessions.end_all(session, user.id)
    click.echo(f"{user.name} signs in without a second factor now.")


@users.command("disable")
@click.argument("name")
def disable(name: str) -> None:
    """Disable the account of NAME and end its sessions."""
    with _changed(name, Action.USER_DISABLED) as (session, user):
        service.disable(session, user)
    click.echo(f"{user.name} is disabled.")


@users.command("enable")
@click.argument("name")
def enable(name: str) -> None:
    """Enable a disabled account again."""
    with _changed(name, Action.USER_ENABLED) as (_, user):
        service.enable(user)
    click.echo(f"{user.name} is enabled.")


@users.command("sign-out")
@click.argument("name")
def sign_out(name: str) -> None:
    """End every session of NAME."""
    with _changed(name, Action.SESSION_ENDED) as (session, user):
        ended = sessions.end_all(session, user.id)
    click.echo(f"Sessions of {user.name} that were ended: {ended}.")


@contextmanager
def _changed(name: str, action: Action) -> Iterator[tuple[Session, User]]:
    """Open a transaction that changes a user; the audit trail records it in the same one."""
    with errors_as_messages(), current_runtime().db.writing() as session:
        user = service.find_by_name(session, name)
        if user is None:
            raise NotFound(f"There is no user {name}; `{COMMAND} users list` lists them.")
        yield session, user
        audit.record(session, COMMAND_LINE, action, user.id)


def _print_password(user: User, password: str) -> None:
    click.echo(f"{user.name} / {password}")
    click.echo("This password works once, to choose another. It is not shown again.")
