"""Raw texts: stored with what they belong to, opened on request, sealed anew, and deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.secrets.encryption import Keyring
from app.redaction.models import RawText
from app.redaction.redactor import Sealed, decrypt, encrypt


@dataclass(frozen=True, slots=True)
class Opened:
    """What was said: texts of messages by their index, of segments `text` and `words` by id."""

    messages: dict[str, str] = field(default_factory=dict)
    segments: dict[str, dict[str, Any]] = field(default_factory=dict)


def store(session: Session, source_id: str, sealed: Sealed | None) -> str | None:
    """Keep what was sealed for a conversation, recording or call; return the id of its row."""
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


def opened(session: Session, keyring: Keyring, raw_text_id: str | None) -> Opened | None:
    """Open a row; None where nothing was masked, or its time is over.

    Raises:
        UnknownMasterKey: the ring lacks the key that sealed it.
    """
    row = session.get(RawText, raw_text_id) if raw_text_id else None
    if row is None:
        return None
    return Opened(**orjson.loads(decrypt(keyring, row.id, row.sealed)))


def forget(session: Session, source_ids: Sequence[str]) -> int:
    """Delete all that is kept of these sources; return how many rows those were."""
    found = session.scalars(
        delete(RawText).where(RawText.source_id.in_(source_ids)).returning(RawText.id)
    )
    return len(found.all())


def purge(session: Session, *, before: datetime, batch: int = 500) -> int:
    """Delete a batch of what was kept before a moment; return how many rows those were."""
    old = (
        select(RawText.id)
        .where(RawText.created_at < before)
        .order_by(RawText.created_at, RawText.id)
        .limit(batch)
    )
    found = session.scalars(
        delete(RawText).where(RawText.id.in_(old.scalar_subquery())).returning(RawText.id)
    )
    return len(found.all())


def rewrap(session: Session, keyring: Keyring, *, batch: int = 500) -> int:
    """Seal up to `batch` rows anew that an older master key sealed; return how many."""
    rows = session.scalars(
        select(RawText).where(RawText.key_id != keyring.current_id).limit(batch)
    ).all()
    for row in rows:
        content = decrypt(keyring, row.id, row.sealed)
        row.sealed = encrypt(keyring, row.id, content)
        row.key_id = keyring.current_id
    return len(rows)


def unreadable_key_ids(session: Session, keyring: Keyring) -> set[str]:
    """Name the master keys that raw texts need and this process was not given."""
    used = session.scalars(select(RawText.key_id).distinct())
    return {key_id for key_id in used if not keyring.has(key_id)}
