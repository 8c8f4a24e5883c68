"""Keys as the gate needs them, kept for seconds, dropped at once when any key changes."""

import time
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from sqlalchemy import bindparam, select

from app.api_keys.credentials import purpose_of
from app.api_keys.models import ApiKey, Credential
from app.core.database.session import Database
from app.core.secrets.encryption import Keyring
from app.web.principal import Principal

_LIFE_S = 5.0
_MOST_ENTRIES = 1000

_LOOK_UP = (
    select(
        ApiKey.id,
        ApiKey.name,
        ApiKey.scopes,
        ApiKey.ip_allowlist,
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
class KnownKey:
    """A key that exists, with its secret opened and its networks parsed."""

    principal: Principal
    secret: str
    networks: tuple[IPv4Network | IPv6Network, ...]
    revoked: bool
    ends_at: datetime | None
    key_version: str
    loaded_at: float

    def usable_at(self, now: datetime) -> bool:
        """Whether neither the key nor this credential is revoked or over."""
        return not self.revoked and (self.ends_at is None or self.ends_at > now)

    def allows(self, address: IPv4Address | IPv6Address | None) -> bool:
        """Whether the allowlist takes this address; an empty list takes any."""
        if not self.networks:
            return True
        return address is not None and any(address in network for network in self.networks)


class KeyCache:
    """Found keys by hash. The key version of the request state tells when one is out of date."""

    def __init__(self, db: Database, keyring: Keyring) -> None:
        self._db = db
        self._keyring = keyring
        self._entries: dict[str, KnownKey] = {}
        self._version = ""

    def find(self, key_hash: str) -> KnownKey | None:
        """Return the key behind a hash, at most five seconds old."""
        entry = self._entries.get(key_hash)
        if entry is not None and time.monotonic() - entry.loaded_at < _LIFE_S:
            return entry
        return self._load(key_hash)

    def confirm(self, entry: KnownKey, key_hash: str, version: str) -> KnownKey | None:
        """Return the entry if no key has changed since it was read, else read it again."""
        self._version = version
        return entry if entry.key_version == version else self._load(key_hash)

    def _load(self, key_hash: str) -> KnownKey | None:
        # The version is taken before the table is read: a change in between makes it differ.
        version = self._version
        with self._db.reading() as session:
            row = session.execute(_LOOK_UP, {"key_hash": key_hash}).mappings().first()
        if row is None:
            self._entries.pop(key_hash, None)
            return None
        secret = self._keyring.decrypt(
            row["secret_sealed"], purpose=purpose_of(row["credential_id"])
        )
        ends = [each for each in (row["expires_at"], row["credential_expires_at"]) if each]
        entry = KnownKey(
            principal=Principal(
                key_id=row["id"],
                name=row["name"],
                scopes=frozenset(row["scopes"]),
                ip_allowlist=tuple(row["ip_allowlist"]),
                expires_at=row["expires_at"],
                signature_policy=row["signature_policy"],
                require_nonce=row["require_nonce"],
            ),
            secret=secret.decode(),
            networks=tuple(ip_network(each) for each in row["ip_allowlist"]),
            revoked=row["revoked_at"] is not None,
            ends_at=min(ends, default=None),
            key_version=version,
            loaded_at=time.monotonic(),
        )
        if len(self._entries) >= _MOST_ENTRIES:
            self._entries.clear()
        self._entries[key_hash] = entry
        return entry
