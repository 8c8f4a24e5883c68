"""Encryption of the documents of queued imports, whose texts are not masked yet."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.sealed import SealedColumn
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


def _purpose_of(import_id: str) -> str:
    return f"import:{import_id}"


def _give_up(_: Session, __: Keyring, lost: Sequence[Import]) -> None:
    message = "The documents of this import were lost with their master key: send them again."
    for row in lost:
        row.sealed_documents = None
        if row.state in leases.OPEN_STATES:
            row.error = {"code": "BYTES_MISSING", "message": message}
            leases.end(row, leases.JobState.FAILED, utc_now())


DOCUMENTS = SealedColumn("queued import", Import.sealed_documents, _purpose_of, _give_up)
