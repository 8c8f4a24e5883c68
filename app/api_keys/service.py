"""API keys: made, listed, changed and revoked."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api_keys.credentials import IssuedKey, issue_pair
from app.api_keys.escalation import require_within
from app.api_keys.models import ApiKey, Credential, SignaturePolicy
from app.api_keys.scopes import MANAGE_KEYS, in_order
from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row, require_match
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.principal import Principal
from app.core.secrets.encryption import Keyring
from app.usage.service import name_key

_MAX_ACTIVE = 100
_SORTABLE = {"created_at": ApiKey.created_at, "name": ApiKey.name}


def create_key(
    session: Session,
    keyring: Keyring,
    *,
    name: str,
    scopes: list[str],
    description: str | None = None,
    ip_allowlist: list[str] | None = None,
    signature_policy: str = SignaturePolicy.DEFAULT,
    require_nonce: bool = False,
    expires_at: datetime | None = None,
    caller: Principal | None = None,
) -> IssuedKey:
    """Make a key with its first credential. The strings are returned here and never again.

    Raises:
        InvalidInput: the scopes are invalid, or `expires_at` is in the past.
        InsufficientScope: the key could do more than its maker.
        Conflict: there are 100 active keys.
    """
    now = utc_now()
    _require_future(expires_at, now)
    if len(_active(session, now)) >= _MAX_ACTIVE:
        raise Conflict(f"There can be at most {_MAX_ACTIVE} active keys: revoke one first.")
    key = ApiKey(
        id=new_id("key"),
        name=name,
        description=description,
        scopes=_checked_scopes(scopes),
        ip_allowlist=ip_allowlist or [],
        signature_policy=str(signature_policy),
        require_nonce=require_nonce,
        expires_at=expires_at,
        created_at=now,
        updated_at=now,
    )
    require_within(caller, key)
    name_key(session, key_id=key.id, name=name)
    return issue_pair(session, keyring, key, now)


def get_key(session: Session, key_id: str) -> ApiKey:
    """Return a key, active or not; raise `NotFound` if there is none."""
    return find_row(session, ApiKey, key_id, "API key")


def list_page(session: Session, request: PageRequest) -> Page[Any]:
    """List all keys, revoked ones included, as rows of `ApiKey`."""
    page = select_page(session, select(ApiKey), request, sortable=_SORTABLE, tail=ApiKey.id)
    return replace(page, items=[row["ApiKey"] for row in page.items])


def names(session: Session, key_ids: Collection[str]) -> dict[str, str]:
    """Return the name of each of these keys, without ids of no key."""
    rows = session.execute(select(ApiKey.id, ApiKey.name).where(ApiKey.id.in_(key_ids)))
    return {row.id: row.name for row in rows}


def change_key(
    session: Session,
    key_id: str,
    changes: Mapping[str, Any],
    *,
    caller: Principal | None,
    if_match: str | None = None,
) -> ApiKey:
    """Change the given fields.

    Raises:
        InsufficientScope: the key may, or could then, do more than the caller's.
        Conflict: the key is revoked, or no active key with `keys:manage` would be left.
        PreconditionFailed: If-Match is another version.
    """
    now = utc_now()
    key = get_key(session, key_id)
    require_within(caller, key)
    require_match(key, if_match)
    if key.revoked_at is not None:
        raise Conflict("The key is revoked: make a new one.")
    for field, value in changes.items():
        setattr(key, field, value)
    if "scopes" in changes:
        key.scopes = _checked_scopes(key.scopes)
    if "ip_allowlist" in changes:
        key.ip_allowlist = key.ip_allowlist or []
    if "expires_at" in changes:
        _require_future(key.expires_at, now)
    require_within(caller, key)
    _require_a_manager(session, now)
    key.updated_at = now
    name_key(session, key_id=key.id, name=key.name)
    session.flush()
    return key


def revoke_key(session: Session, key_id: str, *, caller: Principal | None) -> ApiKey:
    """Revoke a key for good; a revoked key stays as it is.

    Raises:
        InsufficientScope: the key may do more than the caller's.
        Conflict: no active key with `keys:manage` would be left.
    """
    key = get_key(session, key_id)
    require_within(caller, key)
    if key.revoked_at is None:
        now = utc_now()
        key.revoked_at = now
        key.updated_at = now
        session.flush()
        if caller is not None:
            _require_a_manager(session, now)
    return key


def any_key(session: Session) -> bool:
    """Whether a key was ever made; false only at the first start."""
    return session.scalar(select(Credential.id).limit(1)) is not None


def _active(session: Session, now: datetime) -> list[ApiKey]:
    """Return the active keys; no other transaction counts them until this one ends."""
    one_at_a_time(session, "active API keys")
    keys = session.scalars(select(ApiKey).where(ApiKey.revoked_at.is_(None)))
    return [key for key in keys if key.status_at(now) == "active"]


def _require_a_manager(session: Session, now: datetime) -> None:
    session.flush()
    if not any(MANAGE_KEYS in key.scopes for key in _active(session, now)):
        raise Conflict("No active key with the scope keys:manage would be left: make one first.")


def _checked_scopes(scopes: list[str]) -> list[str]:
    try:
        return in_order(scopes)
    except ValueError as error:
        raise InvalidInput.field("scopes", str(error), code="ENUM") from error


def _require_future(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidInput.field("expiresAt", "expiresAt must be in the future.", code="RANGE")
