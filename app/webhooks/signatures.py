"""Signing secrets, and the headers that prove where a delivery comes from."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from app import __version__

_PREFIX = "whsec_"


def new_secret() -> str:
    """Make a signing secret: `whsec_` and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def headers(
    *,
    signing_secrets: Sequence[str],
    event_id: str,
    delivery_id: str,
    attempt: int,
    timestamp: int,
    body: bytes,
) -> dict[str, str]:
    """Return every header of a delivery.

    Args:
        signing_secrets: the present one first; a previous one signs only the standard header.
        timestamp: whole seconds since 1970, of this attempt.
    """
    return {
        "Content-Type": "application/json",
        "User-Agent": f"CQE-Webhooks/{__version__}",
        "X-Webhook-Signature": sign_body(signing_secrets[0], body),
        "X-Webhook-Id": event_id,
        "X-Webhook-Delivery": delivery_id,
        "X-Webhook-Attempt": str(attempt),
        "X-Webhook-Timestamp": str(timestamp),
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(
            sign_standard(secret, event_id, timestamp, body) for secret in signing_secrets
        ),
    }


def sign_body(secret: str, body: bytes) -> str:
    """Return the lower-case hex HMAC-SHA256 of the body, keyed with the whole secret."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def sign_standard(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """Return a signature of Standard Webhooks 1.0, keyed with the bytes behind the prefix."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
