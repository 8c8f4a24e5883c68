"""Users: created, listed, changed and disabled. An active admin with a password always remains."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.rows import find_row
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.principal import TeamScope, current_teams
from app.people import sessions
from app.people.models import User
from app.people.roles import ADMIN, AGENT, OF_TEAMS, REVIEW, ROLES

NAME_LENGTH = 64
EMAIL_LENGTH = 254
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
FIRST_ADMIN = "admin"


def compared_name(name: str) -> str:
    """Return a name as it is compared and stored: NFKC, without case and outer spaces."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def create(
    session: Session,
    *,
    name: str,
    role: str,
    password_hash: str,
    display_name: str = "",
    email: str | None = None,
    **teams: Any,
) -> User:
    """Create a user, who must change the password at the first sign-in.

    Args:
        password_hash: empty for a person who signs in with the provider alone.
        teams: see `change_role`.

    Raises:
        InvalidInput: the name or the role is invalid, or the role has no such teams.
        Conflict: there is a user of this name.
    """
    stored = compared_name(name)
    if not 1 <= len(stored) <= NAME_LENGTH or not stored.isprintable() or " " in stored:
        raise InvalidInput.field(
            "name", f"The name must have 1 to {NAME_LENGTH} characters without spaces."
        )
    if find_by_name(session, stored) is not None:
        raise Conflict(f"There is a user {stored} already: choose another name.")
    now = utc_now()
    user = User(
        id=new_id("user"),
        name=stored,
        display_name=display_name.strip()[:NAME_LENGTH] or name.strip(),
        role=_checked(role),
        **_checked_teams(role, **teams),
        password_hash=password_hash,
        must_change_password=bool(password_hash),
        recovery_codes=[],
        timezone="UTC",
        preferences={},
        created_at=now,
        updated_at=now,
    )
    session.add(user)
    change_email(session, user, email)
    session.flush()
    return user


def find_by_email(session: Session, email: str) -> User | None:
    return session.scalar(select(User).where(User.email == email.casefold()))


def find_by_name(session: Session, name: str) -> User | None:
    """Return the user of a name, written in any case."""
    known = compared_name(name)
    # PostgreSQL refuses to look for NUL, which no name contains.
    if not known.isprintable():
        return None
    return session.scalar(select(User).where(User.name == known))


def find_active(session: Session, name: str) -> User | None:
    """Return the user of a name, unless the account is disabled."""
    user = find_by_name(session, name)
    return user if user is not None and user.disabled_at is None else None


def get(session: Session, user_id: str) -> User:
    """Return a user; raise `NotFound` if it does not exist."""
    return find_row(session, User, user_id, "user")


def any_user(session: Session) -> bool:
    """Return whether a user was ever created; false only at the first start."""
    return session.scalar(select(User.id).limit(1)) is not None


def agents_without_executive(session: Session) -> Sequence[User]:
    """List the active agents who are tied to no executive yet, by name."""
    rows = select(User).where(
        User.role == AGENT, User.executive_id.is_(None), User.disabled_at.is_(None)
    )
    return session.scalars(rows.order_by(User.name)).all()


def executives_in_use(session: Session, executive_ids: Collection[str]) -> dict[str, str]:
    rows = session.execute(
        select(User.executive_id, User.name).where(User.executive_id.in_(executive_ids))
    )
    return {row.executive_id: row.name for row in rows}


def list_all(session: Session) -> Sequence[User]:
    """List every user by name, disabled ones last."""
    return session.scalars(select(User).order_by(User.disabled_at.is_not(None), User.name)).all()


def list_reviewers(session: Session) -> list[User]:
    """List the active people who may review something of what the caller sees, by name."""
    teams = current_teams()
    return [
        user
        for user in list_all(session)
        if user.disabled_at is None
        and REVIEW in ROLES[user.role]
        and (teams is None or teams.meets(teams_of(user)))
    ]


def teams_of(user: User) -> TeamScope | None:
    """Return the teams that somebody who is no agent is limited to; None for those who see all."""
    lists = {"call_center_ids": user.call_center_ids, "campaign_ids": user.campaign_ids}
    return TeamScope.of({"executive_ids": (), **lists}, user.id)


def display_names(session: Session, user_ids: Collection[str]) -> dict[str, str]:
    rows = session.execute(select(User.id, User.display_name).where(User.id.in_(user_ids)))
    return {row.id: row.display_name for row in rows}


def reset_password(session: Session, user: User, password_hash: str) -> None:
    """Set a one-time password and end the user's sessions.

    An account of the provider signs in with passwords from now on.
    """
    _change(user, password_hash=password_hash, must_change_password=True, issuer=None, subject=None)
    sessions.end_all(session, user.id)


def link(session: Session, user: User, issuer: str, subject: str) -> None:
    """Let a user sign in as this subject of the provider, and no longer with a password.

    Raises:
        Conflict: no active admin with a password would be left.
    """
    _change(user, issuer=issuer, subject=subject, password_hash="", must_change_password=False)
    _change(user, totp_secret=None, totp_step=None, recovery_codes=[])
    sessions.end_all(session, user.id)
    _require_an_admin(session)


def change_email(session: Session, user: User, email: str | None) -> None:
    """Set the e-mail address by which the provider and executives know a user; None for none.

    Raises:
        InvalidInput: it is not an address, or belongs to another user.
    """
    if not email:
        user.email = None
        return
    if not _EMAIL.fullmatch(email) or len(email) > EMAIL_LENGTH:
        raise InvalidInput.field("email", "This must be an e-mail address.")
    with session.no_autoflush:
        other = find_by_email(session, email)
    if other is not None and other is not user:
        raise InvalidInput.field("email", f"The address belongs to {other.name} already.")
    user.email = email.casefold()


def change_password(session: Session, user: User, password_hash: str, *, keep: str) -> None:
    """Set the password that a user has chosen; end every session but one."""
    _change(user, password_hash=password_hash, must_change_password=False)
    sessions.end_all(session, user.id, but=keep)


def change_role(session: Session, user: User, role: str, **teams: Any) -> None:
    """Give a user another role and other teams, from their next request on.

    Args:
        teams: `executive_id` of an agent, `call_center_ids` and `campaign_ids` of others; without
            them, an agent sees nothing and the others see all. The call centres of an agent say
            where their executive is to be looked for.

    Raises:
        InvalidInput: the role is invalid or has no such teams.
        Conflict: no active admin would be left.
    """
    _change(user, role=_checked(role), **_checked_teams(role, **teams))
    _require_an_admin(session)


def disable(session: Session, user: User) -> None:
    """Disable an account and end its sessions.

    Raises:
        Conflict: no active admin would be left.
    """
    _change(user, disabled_at=user.disabled_at or utc_now())
    sessions.end_all(session, user.id)
    _require_an_admin(session)


def enable(user: User) -> None:
    """Enable a disabled account again."""
    _change(user, disabled_at=None)


def change_profile(
    user: User, *, display_name: str, timezone: str, preferences: dict[str, Any]
) -> None:
    """Store what a user has set for themselves; other preferences stay."""
    _change(
        user,
        display_name=display_name,
        timezone=timezone,
        preferences={**user.preferences, **preferences},
    )


def _change(user: User, **values: Any) -> None:
    for field, value in values.items():
        setattr(user, field, value)
    user.updated_at = utc_now()


def _checked(role: str) -> str:
    if role not in ROLES:
        raise InvalidInput.field("role", f"The role must be one of {', '.join(ROLES)}.")
    return role


def _checked_teams(
    role: str,
    *,
    executive_id: str | None = None,
    call_center_ids: Sequence[str] = (),
    campaign_ids: Sequence[str] = (),
) -> dict[str, Any]:
    if executive_id is not None and role != AGENT:
        raise InvalidInput.field("executiveId", "Only an agent has an executive.")
    for field, ids in (("callCenterIds", call_center_ids), ("campaignIds", campaign_ids)):
        if ids and role not in OF_TEAMS and (role, field) != (AGENT, "callCenterIds"):
            raise InvalidInput.field(
                field, f"Only the roles {' and '.join(OF_TEAMS)} can be limited to teams."
            )
    return {
        "executive_id": executive_id,
        "call_center_ids": list(dict.fromkeys(call_center_ids)),
        "campaign_ids": list(dict.fromkeys(campaign_ids)),
    }


def _require_an_admin(session: Session) -> None:
    session.flush()
    one_at_a_time(session, "active admins")
    # With a password: the provider may be away.
    active = select(User.id).where(
        User.role == ADMIN, User.disabled_at.is_(None), User.password_hash != ""
    )
    if session.scalar(active.limit(1)) is None:
        raise Conflict(
            "No active admin would be left who has a password: make another user an admin first."
        )
