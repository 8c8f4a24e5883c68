"""Principal of a request: the API key, or the person in the dashboard, that it acts for."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Principal:
    """The rights of an API key; a signed-in person has those of a key with the scopes of the role."""

    key_id: str
    name: str
    scopes: frozenset[str]
    ip_allowlist: tuple[str, ...]
    expires_at: datetime | None
    signature_policy: str
    require_nonce: bool
