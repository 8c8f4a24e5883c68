"""Accounts of people whom the provider has let in: found, made, and given the role of their groups."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database.locks import one_at_a_time
from app.core.errors import InvalidInput
from app.core.setting_parsers import PERSON_ROLES, GroupRole
from app.core.settings import Settings
from app.people import audit, service
from app.people.audit import Action, Actor
from app.people.models import User
from app.people.oidc.provider import Claims, SignInRefused
from app.people.roles import AGENT, OF_TEAMS

# Without a time from the provider, the sign-in does not count as recent.
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as the provider describes them; `email` is empty unless the provider has verified it."""

    issuer: str
    subject: str
    names: tuple[str, ...]
    display_name: str
    email: str
    groups: frozenset[str]
    authenticated_at: datetime
    session_id: str | None

    @classmethod
    def of(cls, claims: Claims, groups_claim: str) -> Self:
        email = _text(claims, "email") if claims.get("email_verified") is True else ""
        groups = claims.get(groups_claim, ())
        at = claims.get("auth_time")
        return cls(
            issuer=claims["iss"],
            subject=claims["sub"],
            names=(_text(claims, "preferred_username"), email, claims["sub"]),
            display_name=_text(claims, "name"),
            email=email.casefold(),
            groups=frozenset(map(str, [groups] if isinstance(groups, str) else groups or ())),
            authenticated_at=datetime.fromtimestamp(at, UTC) if at else _LONG_AGO,
            session_id=_text(claims, "sid") or None,
        )


def admit(
    session: Session,
    identity: Identity,
    settings: Settings,
    find_call_center: Callable[[str], str | None],
    actor: Actor,
) -> User:
    """Return the account of a person, with the role and team of their groups.

    An account that an admin has made with the e-mail address of the person becomes theirs at their
    first sign-in, and has no password from then on.

    Args:
        find_call_center: returns the id of a name, None if there is none.

    Raises:
        SignInRefused: there is no account, it is disabled, or no group gives a role.
        Conflict: no admin with a password would be left.
    """
    one_at_a_time(session, "accounts of the provider")
    user = _find(session, identity)
    if user is not None and user.disabled_at is not None:
        raise SignInRefused("Your account is disabled: an admin can enable it.")
    values = _granted(settings.oidc_groups, identity.groups, find_call_center)
    if user is None:
        user = _created(session, identity, settings, values)
        audit.record(session, actor, Action.USER_CREATED, user.id)
    elif user.subject is None:
        service.link(session, user, identity.issuer, identity.subject)
        audit.record(session, actor, Action.ACCOUNT_LINKED, user.id)
    if values and any(getattr(user, name) != value for name, value in values.items()):
        # What an admin has limited stays so in another role; only the call centres are of groups.
        kept: dict[str, Any] = {}
        if values["role"] == AGENT:
            kept = {"executive_id": user.executive_id}
        elif values["role"] in OF_TEAMS:
            kept = {"campaign_ids": user.campaign_ids}
        service.change_role(session, user, **values, **kept)
        audit.record(session, actor, Action.ROLE_CHANGED, user.id)
    if identity.email and service.find_by_email(session, identity.email) is None:
        service.change_email(session, user, identity.email)
    return user


def find_by_subject(session: Session, issuer: str, subject: str) -> User | None:
    return session.scalar(select(User).where(User.issuer == issuer, User.subject == subject))


def _find(session: Session, identity: Identity) -> User | None:
    user = find_by_subject(session, identity.issuer, identity.subject)
    if user is None and identity.email:
        user = service.find_by_email(session, identity.email)
        # The address may have gone to somebody else.
        return user if user is not None and user.subject is None else None
    return user


def _created(
    session: Session, identity: Identity, settings: Settings, values: dict[str, Any]
) -> User:
    if not settings.oidc_new_accounts or not values:
        raise SignInRefused("You have no account here: ask an admin to add your e-mail address.")
    for name in filter(None, identity.names):
        if service.find_by_name(session, name) is None:
            try:
                user = service.create(
                    session,
                    name=name,
                    display_name=identity.display_name,
                    password_hash="",
                    **values,
                )
            except InvalidInput:  # it has blanks, or is too long
                continue
            service.link(session, user, identity.issuer, identity.subject)
            return user
    raise SignInRefused("Your name at the provider belongs to another account: ask an admin.")


def _granted(
    rules: Sequence[GroupRole],
    groups: Collection[str],
    find_call_center: Callable[[str], str | None],
) -> dict[str, Any]:
    """Return the role and the call centres that groups give; empty where groups give none at all.

    Of several roles the one with most rights counts, with the call centres of all its groups; a group
    that names none gives all.

    Raises:
        SignInRefused: none of the groups gives a role, or a call centre does not exist.
    """
    if not rules:
        return {}
    matching = [rule for rule in rules if rule.group == "*" or rule.group in groups]
    if not matching:
        raise SignInRefused("None of your groups at the provider gives you a role here.")
    role = max((rule.role for rule in matching), key=PERSON_ROLES.index)
    teams = {rule.team for rule in matching if rule.role == role}
    centers = {} if "" in teams else {team: find_call_center(team) for team in sorted(teams)}
    if None in centers.values():
        raise SignInRefused("Your groups name a call centre that does not exist: ask an admin.")
    return {"role": role, "call_center_ids": list(centers.values())}


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return value.strip()[:254] if isinstance(value, str) else ""
