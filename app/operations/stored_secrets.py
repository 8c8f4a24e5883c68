"""Encrypted secrets in the database: missing master keys, and encryption with a new one."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from app.api_keys import credentials
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring
from app.imports import sealed_documents
from app.redaction import raw_texts
from app.webhooks import signing_secrets

# For each kind: encrypts a batch again, and returns the ids of the master keys that are missing.
_KINDS: tuple[
    tuple[str, Callable[[Session, Keyring], int], Callable[[Session, Keyring], set[str]]], ...
] = (
    ("API key", credentials.rewrap, credentials.unreadable_key_ids),
    ("webhook", signing_secrets.rewrap, signing_secrets.unreadable_key_ids),
    ("raw text", raw_texts.rewrap, raw_texts.unreadable_key_ids),
    ("queued import", sealed_documents.rewrap, sealed_documents.unreadable_key_ids),
)


def missing_master_keys(session: Session, keyring: Keyring) -> list[str]:
    """Return the ids of the master keys that stored secrets need and the keyring does not have."""
    return sorted({key_id for *_, missing in _KINDS for key_id in missing(session, keyring)})


def rewrap(runtime: Runtime) -> dict[str, int]:
    """Encrypt all secrets with the first master key, in batches; return counts by kind."""
    return {kind: _rewrap_all(runtime, rewrap_batch) for kind, rewrap_batch, _ in _KINDS}


def _rewrap_all(runtime: Runtime, rewrap_batch: Callable[[Session, Keyring], int]) -> int:
    total = 0
    while True:
        with runtime.db.writing() as session:
            count = rewrap_batch(session, runtime.keyring)
        if count == 0:
            return total
        total += count
