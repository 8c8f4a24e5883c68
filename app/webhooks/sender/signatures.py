"""Headers of a delivery, and the signatures in them (docs/webhooks.md, "Receiving")."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from app import __version__
from app.webhooks.signing_secrets import PREFIX


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
        signing_secrets: the current one first; a previous one signs `webhook-signature` only.
        timestamp: of this attempt, in whole seconds since 1970.
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
    """Return the signature of Standard Webhooks 1.0, keyed with the bytes after the prefix."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
