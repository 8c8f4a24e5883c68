"""Cache of API keys for authentication; it follows every change of a key at once."""

import time
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_network

from sqlalchemy import bindparam, select

from app.api_keys.credentials import purpose_of
from app.api_keys.models import ApiKey, Credential
from app.core.database.session import Database
from app.core.ip_addresses import Address, Network
from app.core.principal import TEAM_LISTS, Principal, TeamScope
from app.core.secrets.encryption import Keyring

_LIFE_S = 5.0
_MAX_ENTRIES = 1000

_LOOK_UP = (
    select(
        ApiKey.id,
        ApiKey.name,
        ApiKey.scopes,
        ApiKey.ip_allowlist,
        ApiKey.executive_ids,
        ApiKey.call_center_ids,
        ApiKey.campaign_ids,
        ApiKey.signature_policy,
        ApiKey.require_nonce,
        ApiKey.revoked_at,
        ApiKey.expires_at,
        Credential.id.label("credential_id"),
        Credential.secret_sealed,
        Credential.expires_at.label("credential_expires_at"),
    )
    .join(Credential, Credential.key_id == ApiKey.id)
    .where(Credential.key_hash == bindparam("key_hash"))
)


@dataclass(frozen=True, slots=True)
class CachedKey:
    """An API key with its secret decrypted and its networks parsed."""

    principal: Principal
    secret: str
    networks: tuple[Network, ...]
    revoked: bool
    ends_at: datetime | None
    key_version: str
    loaded_at: float

    def is_usable_at(self, now: datetime) -> bool:
        """Return whether the key is not revoked, and neither it nor this credential has expired."""
        return not self.revoked and (self.ends_at is None or self.ends_at > now)

    def allows(self, address: Address | None) -> bool:
        """Return whether the allowlist contains this address; an empty list allows any."""
        if not self.networks:
            return True
        return address is not None and any(address in network for network in self.networks)


class KeyCache:
    """Keys by hash, for a few seconds.

    Every change of a key gives the request state a new key version, and an entry is used only if
    its version is the present one.
    """

    def __init__(self, db: Database, keyring: Keyring) -> None:
        self._db = db
        self._keyring = keyring
        self._entries: dict[str, CachedKey] = {}
        self._version = ""

    def find(self, key_hash: str) -> CachedKey | None:
        """Return the key with this hash, at most five seconds old."""
        entry = self._entries.get(key_hash)
        if entry is not None and time.monotonic() - entry.loaded_at < _LIFE_S:
            return entry
        return self._load(key_hash)

    def confirm(self, entry: CachedKey, key_hash: str, version: str) -> CachedKey | None:
        """Return the entry if no key has changed since it was loaded, else load it again."""
        self._version = version
        return entry if entry.key_version == version else self._load(key_hash)

    def _load(self, key_hash: str) -> CachedKey | None:
        # The version is read before the table, so that a change in between is noticed.
        version = self._version
        with self._db.reading() as session:
            row = session.execute(_LOOK_UP, {"key_hash": key_hash}).mappings().first()
        if row is None:
            self._entries.pop(key_hash, None)
            return None
        secret = self._keyring.decrypt(
            row["secret_sealed"], purpose=purpose_of(row["credential_id"])
        )
        ends = [moment for moment in (row["expires_at"], row["credential_expires_at"]) if moment]
        entry = CachedKey(
            principal=Principal(
                key_id=row["id"],
                name=row["name"],
                scopes=frozenset(row["scopes"]),
                ip_allowlist=tuple(row["ip_allowlist"]),
                expires_at=row["expires_at"],
                signature_policy=row["signature_policy"],
                require_nonce=row["require_nonce"],
                teams=TeamScope.of({name: row[name] for name in TEAM_LISTS}, row["id"]),
            ),
            secret=secret.decode(),
            networks=tuple(ip_network(cidr) for cidr in row["ip_allowlist"]),
            revoked=row["revoked_at"] is not None,
            ends_at=min(ends, default=None),
            key_version=version,
            loaded_at=time.monotonic(),
        )
        if len(self._entries) >= _MAX_ENTRIES:
            self._entries.clear()
        self._entries[key_hash] = entry
        return entry
