"""Signing secrets at rest: sealed under a master key, each for its own row."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.secrets.encryption import Keyring
from app.webhooks.models import Subscription


def seal(keyring: Keyring, subscription_id: str, secret: str) -> str:
    """Encrypt a secret for its subscription's row."""
    return keyring.encrypt(secret.encode(), purpose=_purpose_of(subscription_id))


def unseal(keyring: Keyring, subscription_id: str, token: str) -> str:
    """Open a secret; raise `UnknownMasterKey` when its master key is missing."""
    return keyring.decrypt(token, purpose=_purpose_of(subscription_id)).decode()


def rewrap(session: Session, keyring: Keyring, *, batch: int = 500) -> int:
    """Seal up to `batch` secrets anew that an older master key sealed; return how many."""
    count = 0
    for subscription in session.scalars(select(Subscription)):
        if count >= batch:
            break
        for column in ("secret", "previous_secret"):
            sealed = getattr(subscription, column)
            if sealed is not None and keyring.key_id_of(sealed) != keyring.current_id:
                secret = unseal(keyring, subscription.id, sealed)
                setattr(subscription, column, seal(keyring, subscription.id, secret))
                count += 1
    return count


def unreadable_key_ids(session: Session, keyring: Keyring) -> set[str]:
    """Name the master keys that stored secrets need and this process was not given."""
    pairs = session.execute(select(Subscription.secret, Subscription.previous_secret))
    used = {keyring.key_id_of(sealed) for pair in pairs for sealed in pair if sealed is not None}
    return {key_id for key_id in used if not keyring.has(key_id)}


def _purpose_of(subscription_id: str) -> str:
    return f"webhook_subscription:{subscription_id}:signing_secret"
