"""Raw texts, the encrypted originals of masked texts: store, decrypt, re-encrypt and delete."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs.purging import delete_older
from app.core.secrets.encryption import Keyring
from app.redaction.models import RawText
from app.redaction.redactor import SealedOriginals, purpose_of

_REWRAPPED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class OriginalTexts:
    """Originals: texts of messages by index, and `text` and `words` of segments by id."""

    messages: dict[str, str] = field(default_factory=dict)
    segments: dict[str, dict[str, Any]] = field(default_factory=dict)


def store(session: Session, source_id: str, sealed: SealedOriginals | None) -> str | None:
    """Store the originals of a conversation, recording or call; return the id of the row."""
    if sealed is None:
        return None
    session.add(
        RawText(
            id=sealed.id,
            source_id=source_id,
            sealed=sealed.token,
            key_id=sealed.key_id,
            created_at=utc_now(),
        )
    )
    return sealed.id


def find_originals(
    session: Session, keyring: Keyring, raw_text_id: str | None
) -> OriginalTexts | None:
    """Return the decrypted originals; None if nothing was masked or they were deleted.

    Raises:
        UnknownMasterKey: the keyring lacks the key that encrypted them.
    """
    row = session.get(RawText, raw_text_id) if raw_text_id else None
    if row is None:
        return None
    content = keyring.decrypt(row.sealed, purpose=purpose_of(row.id))
    return OriginalTexts(**orjson.loads(content))


def delete_originals(session: Session, source_ids: Sequence[str]) -> int:
    """Delete the originals of these sources; return the number of rows."""
    deleted = session.scalars(
        delete(RawText).where(RawText.source_id.in_(source_ids)).returning(RawText.id)
    )
    return len(deleted.all())


def purge(session: Session, *, before: datetime) -> int:
    """Delete a batch of rows from before a time; return the number of rows."""
    return delete_older(session, RawText.created_at, before=before)


def rewrap(session: Session, keyring: Keyring) -> int:
    """Encrypt a batch of rows again that an older master key encrypted; return the number."""
    rows = session.scalars(
        select(RawText).where(RawText.key_id != keyring.current_id).limit(_REWRAPPED_AT_ONCE)
    ).all()
    for row in rows:
        row.sealed = keyring.rewrap(row.sealed, purpose=purpose_of(row.id))
        row.key_id = keyring.current_id
    return len(rows)


def discard(session: Session, keyring: Keyring) -> int:
    """Delete the originals whose master key is lost; the masked texts stay."""
    deleted = delete(RawText).where(RawText.key_id.not_in(keyring.key_ids))
    return len(session.scalars(deleted.returning(RawText.id)).all())


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    """Yield the first raw text of each master key with its purpose."""
    first_ids = select(func.min(RawText.id)).group_by(RawText.key_id)
    for row in session.execute(select(RawText.id, RawText.sealed).where(RawText.id.in_(first_ids))):
        yield row.sealed, purpose_of(row.id)
