"""Records of API keys as the API shows them: the row, its present status, and its last use."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.api_keys.credentials import IssuedKey, previous_expiries
from app.api_keys.models import ApiKey
from app.core.clock import utc_now
from app.usage.service import last_uses

_SHOWN = (
    "id",
    "name",
    "description",
    "key_prefix",
    "scopes",
    "ip_allowlist",
    "signature_policy",
    "require_nonce",
    "expires_at",
    "created_at",
    "updated_at",
    "rotated_at",
    "version",
)


def records_of(session: Session, keys: Sequence[ApiKey]) -> list[dict[str, Any]]:
    """Return the records of keys, in the same order."""
    now = utc_now()
    ids = [key.id for key in keys]
    used = last_uses(session, ids)
    previous = previous_expiries(session, ids, now)
    return [
        {
            **{field: getattr(key, field) for field in _SHOWN},
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
