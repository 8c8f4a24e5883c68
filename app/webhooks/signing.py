"""Signing of deliveries: the secrets of subscriptions, and the headers that they sign.

Secrets are encrypted under a master key; docs/webhooks.md, "Receiving", documents the signatures.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app import __version__
from app.core.database.sealed import SealedColumn
from app.core.secrets.encryption import Keyring
from app.webhooks.models import Subscription

_PREFIX = "whsec_"


def new_secret() -> str:
    """Return a new signing secret: `whsec_` and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def encrypt(keyring: Keyring, subscription_id: str, secret: str) -> str:
    """Encrypt a secret; it can be decrypted only for the same subscription."""
    return keyring.encrypt(secret.encode(), purpose=_purpose_of(subscription_id))


def decrypt(keyring: Keyring, subscription_id: str, encrypted: str) -> str:
    """Decrypt a secret; raise `UnknownMasterKey` when its master key is missing."""
    return keyring.decrypt(encrypted, purpose=_purpose_of(subscription_id)).decode()


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
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _purpose_of(subscription_id: str) -> str:
    return f"webhook_subscription:{subscription_id}:signing_secret"


def _replace(_: Session, keyring: Keyring, lost: Sequence[Subscription]) -> None:
    """Replace the secrets of webhooks, and switch these off.

    Receivers do not know the new secrets; they get one when it is rotated.
    """
    for subscription in lost:
        subscription.secret = encrypt(keyring, subscription.id, new_secret())
        subscription.active = False
        subscription.version += 1


def _forget_previous(_: Session, __: Keyring, lost: Sequence[Subscription]) -> None:
    for subscription in lost:
        subscription.previous_secret = subscription.previous_secret_expires_at = None


SECRETS = SealedColumn("webhook", Subscription.secret, _purpose_of, _replace)
PREVIOUS_SECRETS = SealedColumn(
    "previous webhook", Subscription.previous_secret, _purpose_of, _forget_previous
)
