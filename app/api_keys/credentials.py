"""Credentials of API keys: issued, rotated with a grace period, and encrypted at rest."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api_keys.escalation import require_within
from app.api_keys.key_strings import DISPLAY_LENGTH, KeyPair, hash_of, new_pair
from app.api_keys.models import ApiKey, Credential
from app.core.clock import iso_utc, utc_now
from app.core.database.rows import find_row
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.principal import Principal
from app.core.secrets.encryption import Keyring
from app.events.catalogue import EventType
from app.events.outbox import publish


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key with the two strings that are shown only once."""

    key: ApiKey
    pair: KeyPair


def issue_pair(session: Session, keyring: Keyring, key: ApiKey, now: datetime) -> IssuedKey:
    """Store a new pair of strings for a key."""
    pair = new_pair()
    key.key_prefix = pair.api_key[:DISPLAY_LENGTH]
    credential_id = new_id("cred")
    session.add(key)
    session.flush()
    session.add(
        Credential(
            id=credential_id,
            key_id=key.id,
            key_hash=hash_of(pair.api_key),
            secret_sealed=keyring.encrypt(pair.secret.encode(), purpose=purpose_of(credential_id)),
            created_at=now,
        )
    )
    session.flush()
    return IssuedKey(key, pair)


def purpose_of(credential_id: str) -> str:
    """Return the text that binds an encrypted secret to its credential."""
    return f"api_key_credential:{credential_id}:secret"


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
    key = find_row(session, ApiKey, key_id, "API key")
    require_within(caller, key)
    if key.status_at(now) != "active":
        raise Conflict(f"The key is {key.status_at(now)}: only an active key can be rotated.")
    grace_end = now + timedelta(seconds=grace_period_s)
    if key.expires_at is not None:
        grace_end = min(grace_end, key.expires_at)
    for credential in _valid(session, key.id, now):
        ends_now = credential.expires_at is not None or grace_period_s == 0
        credential.expires_at = now if ends_now else grace_end
    key.rotated_at = now
    key.updated_at = now
    issued = issue_pair(session, keyring, key, now)
    publish(
        session,
        EventType.API_KEY_ROTATED,
        {
            "key_id": key.id,
            "name": key.name,
            "rotated_at": iso_utc(now),
            "previous_credential_expires_at": iso_utc(grace_end if grace_period_s else now),
        },
    )
    return issued


def previous_expiries(session: Session, key_ids: list[str], now: datetime) -> dict[str, datetime]:
    """Return, by key id, when the previous pair ends, for keys whose previous pair still works."""
    rows = session.execute(
        select(Credential.key_id, Credential.expires_at).where(
            Credential.key_id.in_(key_ids), Credential.expires_at > now
        )
    )
    return {key_id: expires_at for key_id, expires_at in rows if expires_at is not None}


def rewrap(session: Session, keyring: Keyring, *, batch: int = 500) -> int:
    """Encrypt up to `batch` secrets of older master keys with the newest one; return how many."""
    outdated = [
        credential
        for credential in session.scalars(select(Credential))
        if keyring.key_id_of(credential.secret_sealed) != keyring.current_id
    ][:batch]
    for credential in outdated:
        purpose = purpose_of(credential.id)
        secret = keyring.decrypt(credential.secret_sealed, purpose=purpose)
        credential.secret_sealed = keyring.encrypt(secret, purpose=purpose)
    return len(outdated)


def discard(session: Session, keyring: Keyring) -> int:
    """Delete the pairs whose master key is lost, and revoke the keys that have no other pair."""
    lost = [
        credential
        for credential in session.scalars(select(Credential))
        if not keyring.has(keyring.key_id_of(credential.secret_sealed))
    ]
    for credential in lost:
        session.delete(credential)
    session.flush()
    now = utc_now()
    for key in session.scalars(select(ApiKey).where(ApiKey.id.not_in(select(Credential.key_id)))):
        key.revoked_at = key.revoked_at or now
        key.updated_at = now
    return len(lost)


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    """Yield every stored secret with its purpose."""
    for row in session.execute(select(Credential.id, Credential.secret_sealed)):
        yield row.secret_sealed, purpose_of(row.id)


def _valid(session: Session, key_id: str, now: datetime) -> list[Credential]:
    credentials = session.scalars(select(Credential).where(Credential.key_id == key_id))
    return [
        credential
        for credential in credentials
        if credential.expires_at is None or credential.expires_at > now
    ]
