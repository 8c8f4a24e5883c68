"""Tables of people: users, their sessions and saved views, and the audit trail."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class User(Table):
    """A person with a dashboard account. Accounts are disabled, never deleted.

    Of an agent, `executive_id` is whose conversations they see. Others see those that fit both lists;
    an empty list means any.

    With `issuer` and `subject` a person signs in with the provider, else with a password; without
    either, `password_hash` is empty. `totp_step` is the last time step whose code was used.
    """

    __tablename__ = "users"
    __table_args__ = (
        Index("uq_users_subject", "issuer", "subject", unique=True),
        Index("uq_users_email", "email", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    display_name: Mapped[str]
    role: Mapped[str]
    executive_id: Mapped[str | None]
    call_center_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    campaign_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    email: Mapped[str | None]
    issuer: Mapped[str | None]
    subject: Mapped[str | None]
    password_hash: Mapped[str]
    must_change_password: Mapped[bool]
    totp_secret: Mapped[str | None]
    totp_step: Mapped[int | None]
    recovery_codes: Mapped[list[str]] = mapped_column(JSON, default=list)
    timezone: Mapped[str]
    preferences: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    signed_in_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class UserSession(Table):
    """One sign-in on one browser; the cookie's value is stored as a hash only.

    `provider_session` is the session of the sign-in provider that it belongs to.
    """

    __tablename__ = "user_sessions"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    token_hash: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    confirmed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    address: Mapped[str]
    browser: Mapped[str]
    via: Mapped[str] = mapped_column(server_default="password")
    provider_session: Mapped[str | None]


class AuditEntry(Table):
    """One entry of the audit trail: who did what to which object, and never a text.

    `day` is set for actions that are recorded once per person, object and day.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_object", "object_id", "action"),
        Index("uq_audit_entries_day", "user_id", "action", "object_id", "day", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    user_id: Mapped[str | None]
    action: Mapped[str]
    object_id: Mapped[str | None]
    address: Mapped[str]
    request_id: Mapped[str]
    day: Mapped[str | None]


class SavedView(Table):
    """The filters of the list of evaluations under a name, for one person or for all.

    `query` is the query of the list's address, without its page.
    """

    __tablename__ = "saved_views"
    __table_args__ = (Index("ix_saved_views_user", "user_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    query: Mapped[str]
    is_shared: Mapped[bool]
    is_pinned: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
