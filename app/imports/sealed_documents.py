"""Encryption of the documents of queued imports, whose texts are not masked yet."""

from collections.abc import Iterator, Mapping, Sequence

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

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
        documents = unseal(keyring, row.id, row.sealed_documents)
        row.sealed_documents = seal(keyring, row.id, documents)
    return len(rows)


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    """Yield the documents of every waiting import with their purpose."""
    waiting = select(Import.id, Import.sealed_documents).where(Import.sealed_documents.is_not(None))
    for import_id, token in session.execute(waiting):
        yield str(token), _purpose_of(import_id)


def _purpose_of(import_id: str) -> str:
    return f"import:{import_id}"
