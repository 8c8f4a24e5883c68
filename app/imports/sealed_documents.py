"""Encryption of the documents of queued imports, whose texts are not masked yet."""

from collections.abc import Iterator, Mapping, Sequence

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.secrets.encryption import Keyring
from app.imports.models import Import

Documents = Sequence[Mapping[str, str | None]]


def seal(keyring: Keyring, import_id: str, documents: Documents) -> str:
    """Encrypt the documents of an import; the token is bound to its id."""
    return keyring.encrypt(orjson.dumps(documents), purpose=_purpose_of(import_id))


def unseal(keyring: Keyring, import_id: str, token: str | None) -> Documents:
    """Decrypt the documents of an import; an ended import has none.

    Raises:
        UnknownMasterKey: the keyring lacks the key that encrypted them.
    """
    if token is None:
        return []
    documents: Documents = orjson.loads(keyring.decrypt(token, purpose=_purpose_of(import_id)))
    return documents


def rewrap(session: Session, keyring: Keyring, *, batch: int = 20) -> int:
    """Encrypt up to `batch` imports again that an older master key encrypted; return how many."""
    rows = session.scalars(
        select(Import)
        .where(Import.sealed_documents.is_not(None))
        .where(Import.sealed_documents.not_like(f"v1.{keyring.current_id}.%"))
        .limit(batch)
        .with_for_update()
    ).all()
    for row in rows:
        purpose = _purpose_of(row.id)
        row.sealed_documents = keyring.rewrap(row.sealed_documents or "", purpose=purpose)
    return len(rows)


def discard(session: Session, keyring: Keyring) -> int:
    """End the imports whose master key is lost, and delete their documents."""
    sealed = session.scalars(select(Import).where(Import.sealed_documents.is_not(None)))
    lost = [row for row in sealed if not keyring.has(keyring.key_id_of(row.sealed_documents or ""))]
    for row in lost:
        row.sealed_documents = None
        if row.state in leases.OPEN_STATES:
            message = (
                "The documents of this import were lost with their master key: send them again."
            )
            row.error = {"code": "BYTES_MISSING", "message": message}
            leases.end(row, leases.JobState.FAILED, utc_now())
    return len(lost)


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    waiting = select(Import.id, Import.sealed_documents).where(Import.sealed_documents.is_not(None))
    for import_id, token in session.execute(waiting):
        yield str(token), _purpose_of(import_id)


def _purpose_of(import_id: str) -> str:
    return f"import:{import_id}"
