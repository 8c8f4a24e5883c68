"""Credentials of API keys: two strings each, shown once, with the secret encrypted at rest."""

import hashlib
import secrets
import string
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.api_keys.models import ApiKey, Credential
from app.core.clock import utc_now
from app.core.database.sealed import SealedColumn
from app.core.ids import new_id
from app.core.secrets.encryption import Keyring

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECKSUM_LENGTH = 6
_KEY_PREFIX, _KEY_RANDOM_LENGTH = "cqek_", 30
_SECRET_PREFIX, _SECRET_RANDOM_LENGTH = "cqes_", 43
_DISPLAY_LENGTH = 9


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The strings that the caller sees once."""

    api_key: str
    secret: str


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key with the two strings that are shown only once."""

    key: ApiKey
    pair: KeyPair


def new_pair() -> KeyPair:
    """Make a key string of 178 random bits and a secret of 256."""
    return KeyPair(
        _with_checksum(_KEY_PREFIX, _KEY_RANDOM_LENGTH),
        _with_checksum(_SECRET_PREFIX, _SECRET_RANDOM_LENGTH),
    )


def is_key_string(text: str) -> bool:
    """Return whether the text has the form and the checksum of a key string; reads no table."""
    length = len(_KEY_PREFIX) + _KEY_RANDOM_LENGTH + _CHECKSUM_LENGTH
    if len(text) != length or not text.startswith(_KEY_PREFIX) or not text.isascii():
        return False
    body, checksum = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    return _checksum(body) == checksum


def hash_of(api_key: str) -> str:
    """Return the SHA-256 that a key is stored under; enough for 178 random bits (ASVS 6.5.2)."""
    return hashlib.sha256(api_key.encode()).hexdigest()


def issue_pair(session: Session, keyring: Keyring, key: ApiKey, now: datetime) -> IssuedKey:
    """Store a new pair of strings for a key."""
    pair = new_pair()
    key.key_prefix = pair.api_key[:_DISPLAY_LENGTH]
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


def end_pairs(session: Session, key_id: str, now: datetime, *, grace_end: datetime) -> None:
    """End the present pair of a key when the grace period ends, and older pairs now."""
    for credential in session.scalars(select(Credential).where(Credential.key_id == key_id)):
        if credential.expires_at is None:
            credential.expires_at = grace_end
        elif credential.expires_at > now:
            credential.expires_at = now


def previous_expiries(session: Session, key_ids: list[str], now: datetime) -> dict[str, datetime]:
    """Return, by key id, when the previous pair ends, for keys whose previous pair still works."""
    rows = session.execute(
        select(Credential.key_id, Credential.expires_at).where(
            Credential.key_id.in_(key_ids), Credential.expires_at > now
        )
    )
    return {key_id: expires_at for key_id, expires_at in rows if expires_at is not None}


def _give_up(session: Session, _: Keyring, lost: Sequence[Credential]) -> None:
    """Delete these pairs, and revoke the keys that have no other pair."""
    for credential in lost:
        session.delete(credential)
    session.flush()
    now = utc_now()
    for key in session.scalars(select(ApiKey).where(ApiKey.id.not_in(select(Credential.key_id)))):
        key.revoked_at = key.revoked_at or now
        key.updated_at = now


SECRETS = SealedColumn("API key", Credential.secret_sealed, purpose_of, _give_up)


def _with_checksum(prefix: str, length: int) -> str:
    body = prefix + "".join(secrets.choice(_BASE62) for _ in range(length))
    return body + _checksum(body)


def _checksum(body: str) -> str:
    value = zlib.crc32(body.encode())
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = _BASE62[digit] + digits
    return digits
