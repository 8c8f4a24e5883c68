"""Signing secrets of subscriptions: made, encrypted under a master key, and re-encrypted."""

import base64
import secrets
from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.secrets.encryption import Keyring
from app.webhooks.models import Subscription

PREFIX = "whsec_"


def new_secret() -> str:
    """Return a new signing secret: `whsec_` and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def encrypt(keyring: Keyring, subscription_id: str, secret: str) -> str:
    """Encrypt a secret; it can be decrypted only for the same subscription."""
    return keyring.encrypt(secret.encode(), purpose=_purpose_of(subscription_id))


def decrypt(keyring: Keyring, subscription_id: str, encrypted: str) -> str:
    """Decrypt a secret; raise `UnknownMasterKey` when its master key is missing."""
    return keyring.decrypt(encrypted, purpose=_purpose_of(subscription_id)).decode()


def rewrap(session: Session, keyring: Keyring, *, batch: int = 500) -> int:
    """Re-encrypt up to `batch` secrets of older master keys; return how many."""
    count = 0
    for subscription in session.scalars(select(Subscription)):
        if count >= batch:
            break
        for column in ("secret", "previous_secret"):
            encrypted = getattr(subscription, column)
            if encrypted is not None and keyring.key_id_of(encrypted) != keyring.current_id:
                secret = decrypt(keyring, subscription.id, encrypted)
                setattr(subscription, column, encrypt(keyring, subscription.id, secret))
                count += 1
    return count


def discard(session: Session, keyring: Keyring) -> int:
    """Replace the secrets whose master key is lost, and switch these webhooks off.

    Nobody knows the new secrets: receivers get one when it is rotated.
    """
    count = 0
    for subscription in session.scalars(select(Subscription)):
        previous = subscription.previous_secret
        if previous is not None and not keyring.has(keyring.key_id_of(previous)):
            subscription.previous_secret = subscription.previous_secret_expires_at = None
        if not keyring.has(keyring.key_id_of(subscription.secret)):
            subscription.secret = encrypt(keyring, subscription.id, new_secret())
            subscription.active = False
            subscription.version += 1
            count += 1
    return count


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    """Yield every stored secret with its purpose."""
    columns = select(Subscription.id, Subscription.secret, Subscription.previous_secret)
    for subscription_id, *encrypted_secrets in session.execute(columns):
        for encrypted in encrypted_secrets:
            if encrypted is not None:
                yield encrypted, _purpose_of(subscription_id)


def _purpose_of(subscription_id: str) -> str:
    return f"webhook_subscription:{subscription_id}:signing_secret"
