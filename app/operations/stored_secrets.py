"""Encrypted secrets in the database: whether the master keys fit, and encryption with a new one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.api_keys import credentials
from app.core.database import key_checks
from app.core.database.schema_revision import stored_revision
from app.core.database.sealed import SealedColumn
from app.core.database.session import Database
from app.core.runtime import Runtime
from app.core.secrets.encryption import (
    KEY_FILE,
    Keyring,
    UnknownMasterKey,
    create_key_file,
    load_keyring,
)
from app.core.settings import Settings
from app.imports import sealed_documents
from app.intake import sealing
from app.operations import data_dir
from app.operations.failure import CannotRun
from app.people import second_factor
from app.redaction import raw_texts
from app.webhooks import mail_server, signing


@dataclass(frozen=True, slots=True)
class SecretKind:
    """Encrypted secrets that are more than a column, with the functions of a `SealedColumn`."""

    name: str
    rewrap: Callable[[Session, Keyring], int]
    discard: Callable[[Session, Keyring], int]
    sealed: Callable[[Session], Iterator[tuple[str, str]]]


_KINDS: tuple[SealedColumn | SecretKind, ...] = (
    credentials.SECRETS,
    signing.SECRETS,
    signing.PREVIOUS_SECRETS,
    mail_server.PASSWORDS,
    sealed_documents.DOCUMENTS,
    second_factor.AUTHENTICATORS,
    sealing.CONFIGS,
    sealing.BODIES,
    SecretKind("raw text", raw_texts.rewrap, raw_texts.discard, raw_texts.sealed_secrets),
)


def create_first_key(settings: Settings) -> None:
    """Create the key file at the first start.

    Raises:
        CannotRun: the database has secrets of other keys, which a new key could not open.
    """
    if not has_keys(settings):
        create_key_file(settings.data_dir)


def has_keys(settings: Settings) -> bool:
    """Return whether there are master keys; False before the first start.

    Raises:
        CannotRun: there are none, but the database has secrets.
    """
    file = settings.data_dir / KEY_FILE
    if settings.master_keys or file.exists():
        return True
    if key_ids := _needed_key_ids(settings):
        raise CannotRun(
            f"there is no {file}, but the database has secrets of the master keys "
            f"{', '.join(key_ids)}, which a new key could not open: put a copy of the file back, "
            "or set CQE_MASTER_KEYS; if they are lost for good, see docs/backup.md"
        )
    return False


def require_readable(session: Session, keyring: Keyring) -> None:
    """Raise `UnknownMasterKey` if the keyring cannot decrypt every kind of stored secret.

    Opens stored secrets only if the current key is not recorded yet.
    """
    key_checks.require_matching(session, keyring)
    if keyring.current_id in key_checks.recorded_values(session):
        return
    tokens = list(_sealed_secrets(session))
    used = {keyring.key_id_of(token) for token, _ in tokens}
    if missing := [key_id for key_id in used if not keyring.has(key_id)]:
        raise UnknownMasterKey(key_checks.missing_keys(missing))
    for token, purpose in tokens:
        keyring.decrypt(token, purpose=purpose)


def rewrap(runtime: Runtime) -> dict[str, int]:
    """Encrypt all secrets with the first master key, in batches; return counts by kind.

    Raises:
        UnknownMasterKey: a key is missing or is another one; nothing was changed.
    """
    with runtime.db.writing() as session:
        require_readable(session, runtime.keyring)
        key_checks.record_current(session, runtime.keyring)
    counts = {kind.name: _rewrap_all(runtime, kind.rewrap) for kind in _KINDS}
    with runtime.db.writing() as session:
        key_checks.forget_others(session, [runtime.keyring.current_id])
    return counts


def discard_lost(settings: Settings) -> dict[str, int]:
    """Give up the secrets whose master keys are lost; return counts by kind.

    Makes a master key if the keyring is empty. The service must be stopped.

    Raises:
        CannotRun: a service uses the data folder.
    """
    data_dir.prepare(settings.data_dir)
    with data_dir.unused(settings.data_dir):
        if not settings.master_keys:
            create_key_file(settings.data_dir)
        keyring = load_keyring(settings)
        db = Database(settings, lambda _: None)
        with db.writing() as session:
            counts = {kind.name: kind.discard(session, keyring) for kind in _KINDS}
            key_checks.forget_others(session, keyring.key_ids)
            require_readable(session, keyring)
            key_checks.record_current(session, keyring)
        db.engine.dispose()
        return counts


def _needed_key_ids(settings: Settings) -> list[str]:
    """Return the ids of the master keys that a database needs, which may be of an older version."""
    if settings.is_sqlite and not settings.sqlite_file.is_file():
        return []
    db = Database(settings, lambda _: None)
    try:
        with db.reading() as session:
            if not stored_revision(session):
                return []
            key_ids = {Keyring.key_id_of(token) for token, _ in _sealed_secrets(session)}
            return sorted(key_ids | key_checks.recorded_if_any(session).keys())
    finally:
        db.engine.dispose()


def _sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    for kind in _KINDS:
        yield from kind.sealed(session)


def _rewrap_all(runtime: Runtime, rewrap_batch: Callable[[Session, Keyring], int]) -> int:
    total = 0
    while True:
        with runtime.db.writing() as session:
            count = rewrap_batch(session, runtime.keyring)
        if count == 0:
            return total
        total += count
