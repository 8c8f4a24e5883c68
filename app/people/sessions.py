"""Sessions: started by a sign-in, found by their cookie, ended one by one or all at once."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.principal import TeamScope
from app.core.settings import Settings
from app.people.models import User, UserSession
from app.people.roles import AGENT, scopes_of

_SEEN_EVERY_S = 300
_BROWSER_LENGTH = 200


class Via(StrEnum):
    """Way in which a person has signed in."""

    PASSWORD = "password"  # noqa: S105 - the name of a way
    PROVIDER = "provider"
    PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class Person:
    """The person of a session, as the account is at this request."""

    user_id: str
    name: str
    display_name: str
    role: str
    timezone: str
    preferences: dict[str, Any]
    must_change_password: bool
    must_add_second_factor: bool
    has_second_factor: bool
    via: Via
    session_id: str
    confirmed_at: datetime
    last_seen_at: datetime
    teams: TeamScope | None
    token: str = field(repr=False)

    @property
    def scopes(self) -> frozenset[str]:
        return scopes_of(self.role, self.teams)


def start(
    session: Session,
    user_id: str,
    *,
    address: str,
    browser: str,
    via: Via = Via.PASSWORD,
    confirmed_at: datetime | None = None,
    provider_session: str | None = None,
) -> str:
    """Start a session; return the value of its cookie, which is stored nowhere.

    Args:
        confirmed_at: when the person has proven who they are; None for now.
    """
    token = secrets.token_urlsafe(32)
    now = utc_now()
    session.add(
        UserSession(
            id=new_id("ses"),
            user_id=user_id,
            token_hash=_hash_of(token),
            created_at=now,
            confirmed_at=min(confirmed_at or now, now),
            last_seen_at=now,
            address=address,
            browser=browser[:_BROWSER_LENGTH],
            via=via,
            provider_session=provider_session,
        )
    )
    return token


def find(session: Session, token: str, settings: Settings) -> Person | None:
    """Return the person of a cookie; None if the session has ended or the account is disabled."""
    match = session.execute(
        select(UserSession, User)
        .join(User, User.id == UserSession.user_id)
        .where(UserSession.token_hash == _hash_of(token), User.disabled_at.is_(None))
    ).first()
    if match is None or _is_over(match.UserSession, settings, utc_now()):
        return None
    row, user = match.UserSession, match.User
    return Person(
        user_id=user.id,
        name=user.name,
        display_name=user.display_name,
        role=user.role,
        timezone=user.timezone,
        preferences=user.preferences,
        must_change_password=user.must_change_password,
        must_add_second_factor=(
            row.via == Via.PASSWORD
            and user.role in settings.second_factor_roles
            and user.totp_secret is None
        ),
        has_second_factor=user.totp_secret is not None,
        via=Via(row.via),
        session_id=row.id,
        confirmed_at=row.confirmed_at,
        last_seen_at=row.last_seen_at,
        teams=_teams_of(user, settings),
        token=token,
    )


def is_to_be_seen(person: Person, settings: Settings) -> bool:
    """Return whether the last use of a session is so long ago that it is written again."""
    every_s = min(_SEEN_EVERY_S, settings.session_idle_s / 2)
    return utc_now() - person.last_seen_at >= timedelta(seconds=every_s)


def note_seen(session: Session, session_id: str) -> None:
    """Write that a session was used just now."""
    session.execute(
        update(UserSession).where(UserSession.id == session_id).values(last_seen_at=utc_now())
    )


def confirm(session: Session, session_id: str) -> None:
    """Write that the person of a session has just given their password again."""
    session.execute(
        update(UserSession).where(UserSession.id == session_id).values(confirmed_at=utc_now())
    )


def list_of(session: Session, user_id: str, settings: Settings) -> Sequence[UserSession]:
    """List the sessions of a person that are not over, the last used first."""
    rows = session.scalars(
        select(UserSession)
        .where(UserSession.user_id == user_id)
        .order_by(UserSession.last_seen_at.desc(), UserSession.id)
    )
    now = utc_now()
    return [row for row in rows if not _is_over(row, settings, now)]


def end(session: Session, session_id: str, *, user_id: str) -> None:
    """End one session of a person.

    Raises:
        NotFound: the person has no such session.
    """
    row = session.get(UserSession, session_id)
    if row is None or row.user_id != user_id:
        raise NotFound("This session has ended already.")
    session.delete(row)


def end_of_browser(session: Session, token: str) -> str | None:
    """End the session of a cookie; return its id, or None."""
    return session.scalar(
        delete(UserSession)
        .where(UserSession.token_hash == _hash_of(token))
        .returning(UserSession.id)
    )


def end_all(session: Session, user_id: str, *, but: str = "") -> int:
    """End every session of a person, except one; return how many."""
    ended = session.scalars(
        delete(UserSession)
        .where(UserSession.user_id == user_id, UserSession.id != but)
        .returning(UserSession.id)
    )
    return len(ended.all())


def end_of_provider(
    session: Session,
    *,
    user_id: str | None = None,
    provider_session: str | None = None,
    before: datetime,
) -> list[str]:
    """End the sessions that began with the provider before a moment: of a user, or of one session there.

    Returns the users whose sessions they were.
    """
    of_them = [UserSession.via == Via.PROVIDER, UserSession.created_at < before]
    if user_id is not None:
        of_them.append(UserSession.user_id == user_id)
    if provider_session is not None:
        of_them.append(UserSession.provider_session == provider_session)
    if len(of_them) == 2:
        return []
    ended = session.scalars(delete(UserSession).where(*of_them).returning(UserSession.user_id))
    return sorted(set(ended))


def purge(session: Session, settings: Settings) -> None:
    now = utc_now()
    session.execute(
        delete(UserSession).where(
            or_(
                UserSession.last_seen_at < now - timedelta(seconds=settings.session_idle_s),
                UserSession.created_at < now - timedelta(seconds=settings.session_max_s),
            )
        )
    )


def _teams_of(user: User, settings: Settings) -> TeamScope | None:
    """Return the teams of a user; an agent without an executive sees none."""
    is_agent = user.role == AGENT
    own = [user.executive_id or ""] if is_agent else ()
    # An agent has call centres only for the search of their executive.
    centers = () if is_agent else user.call_center_ids
    return TeamScope.of(
        {"executive_ids": own, "call_center_ids": centers, "campaign_ids": user.campaign_ids},
        user.id,
        released_only=is_agent,
        hides_reviewers=is_agent and not settings.agents_see_reviewers,
    )


def _is_over(row: UserSession, settings: Settings, now: datetime) -> bool:
    return now - row.last_seen_at >= timedelta(
        seconds=settings.session_idle_s
    ) or now - row.created_at >= timedelta(seconds=settings.session_max_s)


def _hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
