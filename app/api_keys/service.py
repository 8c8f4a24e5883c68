"""API keys: made, listed, shown, changed, rotated and revoked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api_keys.credentials import IssuedKey, end_pairs, issue_pair, previous_expiries
from app.api_keys.enums import SCOPES, TEAM_SCOPES, SignaturePolicy
from app.api_keys.models import ApiKey, Credential
from app.core.clock import iso_utc, utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import columns_without, find_row, require_match
from app.core.errors import Conflict, InsufficientScope, InvalidInput, NotFound
from app.core.ids import new_id
from app.core.ip_addresses import Network
from app.core.json_documents import camel_case
from app.core.principal import TEAM_LISTS, Principal, TeamScope
from app.core.secrets.encryption import Keyring
from app.events.catalogue import EventType
from app.events.outbox import publish
from app.usage.service import last_uses, name_key

_MAX_ACTIVE = 100
_SORTABLE = {"created_at": ApiKey.created_at, "name": ApiKey.name}
_FROM_STRICT_TO_LAX = (SignaturePolicy.REQUIRED, SignaturePolicy.DEFAULT, SignaturePolicy.OPTIONAL)
_SHOWN = columns_without(ApiKey, {"revoked_at"})


def create_key(
    session: Session,
    keyring: Keyring,
    *,
    name: str,
    scopes: list[str],
    caller: Principal | None = None,
    **values: Any,
) -> IssuedKey:
    """Make a key with its first credential. The strings are returned here and never again.

    Args:
        values: further columns of the key; what is not given limits it in nothing.

    Raises:
        InvalidInput: the scopes are invalid, or `expires_at` is in the past.
        InsufficientScope: the key could do more than its maker.
        Conflict: there are 100 active keys.
    """
    now = utc_now()
    _require_future(values.get("expires_at"), now)
    if len(_active(session, now)) >= _MAX_ACTIVE:
        raise Conflict(f"There can be at most {_MAX_ACTIVE} active keys: revoke one first.")
    unset = {"signature_policy": str(SignaturePolicy.DEFAULT), "require_nonce": False}
    lists = {
        field: _without_duplicates(values.get(field)) for field in ("ip_allowlist", *TEAM_LISTS)
    }
    key = ApiKey(
        id=new_id("key"),
        name=name,
        scopes=_checked_scopes(scopes),
        created_at=now,
        updated_at=now,
        **{**unset, **values, **lists},
    )
    _require_team_scopes(key)
    _require_within(caller, key)
    name_key(session, key_id=key.id, name=name)
    return issue_pair(session, keyring, key, now)


def get_key(session: Session, key_id: str) -> ApiKey:
    """Return a key, active or not; raise `NotFound` if it does not exist."""
    return find_row(session, ApiKey, key_id, "API key")


def list_page(session: Session, request: PageRequest, *, caller: Principal | None) -> Page[Any]:
    """List the keys within the caller's teams, revoked ones included, as rows of `ApiKey`."""
    statement = select(ApiKey)
    if caller and caller.teams:
        keys = session.scalars(statement)
        ids = [key.id for key in keys if caller.teams.contains(_teams_of(key))]
        statement = statement.where(ApiKey.id.in_(ids))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=ApiKey.id)
    return replace(page, items=[row["ApiKey"] for row in page.items])


def names(session: Session, key_ids: Collection[str]) -> dict[str, str]:
    rows = session.execute(select(ApiKey.id, ApiKey.name).where(ApiKey.id.in_(key_ids)))
    return {row.id: row.name for row in rows}


def records_of(session: Session, keys: Sequence[ApiKey]) -> list[dict[str, Any]]:
    now = utc_now()
    ids = [key.id for key in keys]
    used = last_uses(session, ids)
    previous = previous_expiries(session, ids, now)
    return [
        {
            **{column.key: getattr(key, column.key) for column in _SHOWN},
            "status": key.status_at(now),
            "last_used_at": used.get(key.id),
            "previous_credential_expires_at": previous.get(key.id),
        }
        for key in keys
    ]


def issued_record(session: Session, issued: IssuedKey) -> dict[str, Any]:
    """Return the record of a new or rotated key, with its strings."""
    [record] = records_of(session, [issued.key])
    return {**record, "api_key": issued.pair.api_key, "secret": issued.pair.secret}


def change_key(
    session: Session,
    key_id: str,
    changes: Mapping[str, Any],
    *,
    caller: Principal | None,
    if_match: str | None,
) -> ApiKey:
    """Change the given fields; values that the key has already make no new version.

    Raises:
        InsufficientScope: the key may, or could then, do more than the caller's.
        Conflict: the key is revoked, or no active key with `keys:manage` would be left.
        PreconditionFailed: If-Match is another version.
    """
    now = utc_now()
    key = _find_for(caller, session, key_id)
    _require_within(caller, key)
    require_match(key, if_match)
    if key.revoked_at is not None:
        raise Conflict("The key is revoked: make a new one.")
    teams = _teams_of(key)
    for field, value in changes.items():
        setattr(key, field, value)
    if "scopes" in changes:
        key.scopes = _checked_scopes(key.scopes)
    if "ip_allowlist" in changes:
        key.ip_allowlist = _without_duplicates(key.ip_allowlist)
    if "expires_at" in changes:
        _require_future(key.expires_at, now)
    _require_team_scopes(key)
    _require_narrower(key, teams)
    _require_within(caller, key)
    if session.is_modified(key):
        key.updated_at = now
    _require_a_manager(session, now)
    name_key(session, key_id=key.id, name=key.name)
    session.flush()
    return key


def rotate_key(
    session: Session,
    keyring: Keyring,
    key_id: str,
    *,
    grace_period_s: int,
    caller: Principal | None,
) -> IssuedKey:
    """Replace both strings. The previous pair works for the grace period; older pairs end now.

    Args:
        grace_period_s: 0 to 604800; it ends at the latest with the key.

    Raises:
        InsufficientScope: the key may do more than the caller's, who would learn its new secret.
        Conflict: the key is revoked or expired.
    """
    now = utc_now()
    key = _find_for(caller, session, key_id)
    _require_within(caller, key)
    if key.status_at(now) != "active":
        raise Conflict(f"The key is {key.status_at(now)}: only an active key can be rotated.")
    grace_end = now + timedelta(seconds=grace_period_s)
    if key.expires_at is not None:
        grace_end = min(grace_end, key.expires_at)
    end_pairs(session, key.id, now, grace_end=grace_end)
    key.rotated_at = key.updated_at = now
    issued = issue_pair(session, keyring, key, now)
    publish(
        session,
        EventType.API_KEY_ROTATED,
        {
            "key_id": key.id,
            "name": key.name,
            "rotated_at": iso_utc(now),
            "previous_credential_expires_at": iso_utc(grace_end),
        },
    )
    return issued


def revoke_key(session: Session, key_id: str, *, caller: Principal | None) -> ApiKey:
    """Revoke a key for good; a revoked key stays as it is.

    Raises:
        InsufficientScope: the key may do more than the caller's.
        Conflict: no active key with `keys:manage` would be left.
    """
    key = _find_for(caller, session, key_id)
    _require_within(caller, key)
    if key.revoked_at is None:
        now = utc_now()
        key.revoked_at = now
        key.updated_at = now
        session.flush()
        if caller is not None:
            _require_a_manager(session, now)
    return key


def any_key(session: Session) -> bool:
    """Return whether a key was ever made; false only at the first start."""
    return session.scalar(select(Credential.id).limit(1)) is not None


def _active(session: Session, now: datetime) -> list[ApiKey]:
    """Return the active keys; no other transaction counts them until this one ends."""
    one_at_a_time(session, "active API keys")
    keys = session.scalars(select(ApiKey).where(ApiKey.revoked_at.is_(None)))
    return [key for key in keys if key.status_at(now) == "active"]


def _require_a_manager(session: Session, now: datetime) -> None:
    session.flush()
    if not any("keys:manage" in key.scopes for key in _active(session, now)):
        raise Conflict("No active key with the scope keys:manage would be left: make one first.")


def _checked_scopes(scopes: list[str]) -> list[str]:
    """Return scopes in the order of `SCOPES`; `*` means all of them."""
    if scopes == ["*"]:
        return list(SCOPES)
    if len(set(scopes)) < len(scopes):
        message = "scopes must contain at least one scope, and none twice."
        raise InvalidInput.field("scopes", message, code="ENUM")
    return sorted(scopes, key=SCOPES.index)


def _without_duplicates(values: Sequence[str] | None) -> list[str]:
    return list(dict.fromkeys(values or []))


def _teams_of(key: ApiKey) -> TeamScope | None:
    return TeamScope.of({name: getattr(key, name) for name in TEAM_LISTS})


def _find_for(caller: Principal | None, session: Session, key_id: str) -> ApiKey:
    """Return a key to change, locked; to a caller limited to teams, the keys of others do not exist."""
    key = find_row(session, ApiKey, key_id, "API key", for_update=True)
    teams = caller.teams if caller else None
    if teams is not None and not teams.contains(_teams_of(key)):
        raise NotFound("There is no such API key.")
    return key


def _require_team_scopes(key: ApiKey) -> None:
    beyond = [scope for scope in key.scopes if scope not in TEAM_SCOPES]
    if _teams_of(key) is not None and beyond:
        message = f"A key that is limited to teams cannot have {', '.join(beyond)}."
        raise InvalidInput.field("scopes", message, code="ENUM")


def _require_narrower(key: ApiKey, before: TeamScope | None) -> None:
    if before is not None and not before.contains(_teams_of(key)):
        message = "The teams of a key can only be narrowed: make a new key."
        [field, *_] = before.lists()
        raise InvalidInput.field(camel_case(field), message, code="RANGE")


def _require_future(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidInput.field("expiresAt", "expiresAt must be in the future.", code="RANGE")


def _require_within(caller: Principal | None, key: ApiKey) -> None:
    """Refuse to make, change, rotate or revoke a key that may do more than the caller's.

    A key may do more if it has another scope, sees other teams, works from another network or for
    longer, or demands less of a request. The command line has no caller, and may do all.

    Raises:
        InsufficientScope: the message names the field.
    """
    if caller is None:
        return
    if not caller.scopes.issuperset(key.scopes):
        raise InsufficientScope("That key has, or would have, scopes that your key lacks.")
    if caller.teams is not None and not caller.teams.contains(_teams_of(key)):
        raise InsufficientScope(
            "executiveIds, callCenterIds and campaignIds must lie within those of your key."
        )
    if caller.ip_allowlist and not _is_inside(key.ip_allowlist, caller.ip_allowlist):
        raise InsufficientScope("ipAllowlist must lie inside that of your key.")
    if caller.expires_at is not None and (
        key.expires_at is None or key.expires_at > caller.expires_at
    ):
        raise InsufficientScope("expiresAt must not be later than that of your key.")
    if _laxness(key.signature_policy) > _laxness(caller.signature_policy):
        raise InsufficientScope(
            f"signaturePolicy must be as strict as that of your key, {caller.signature_policy}."
        )
    if caller.require_nonce and not key.require_nonce:
        raise InsufficientScope("requireNonce must be true, as it is for your key.")


def _laxness(policy: str) -> int:
    return _FROM_STRICT_TO_LAX.index(SignaturePolicy(policy))


def _is_inside(inner: list[str], outer: tuple[str, ...]) -> bool:
    return bool(inner) and all(
        any(_contains(ip_network(large), ip_network(small)) for large in outer) for small in inner
    )


def _contains(large: Network, small: Network) -> bool:
    if isinstance(large, IPv4Network) and isinstance(small, IPv4Network):
        return small.subnet_of(large)
    if isinstance(large, IPv6Network) and isinstance(small, IPv6Network):
        return small.subnet_of(large)
    return False
