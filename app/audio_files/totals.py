"""Totals of recordings, kept as counters: counting and adding up all rows takes too long."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.audio_files.models import AudioFile, AudioFileTotal
from app.core.clock import utc_now
from app.core.database.counters import add_at_commit
from app.core.database.session import before_commit
from app.usage import service as usage

_RECORDINGS, _STORED_BYTES = "recordings", "stored bytes"
_COUNTED = {
    _RECORDINGS: select(func.count()).select_from(AudioFile),
    _STORED_BYTES: select(func.coalesce(func.sum(AudioFile.size_bytes), 0)).where(
        AudioFile.uploaded_at.is_not(None)
    ),
}


def recordings(session: Session) -> int:
    return _total(session, _RECORDINGS)


def stored_bytes(session: Session) -> int:
    return _total(session, _STORED_BYTES)


def add_recordings(session: Session, number: int) -> None:
    add_at_commit(session, AudioFileTotal, _RECORDINGS, quantity=number)


def add_stored_bytes(session: Session, size_bytes: int) -> None:
    """Add the size of a recording when this transaction commits, and note the usage of storage."""
    add_at_commit(session, AudioFileTotal, _STORED_BYTES, quantity=size_bytes)
    before_commit(session, note_usage)


def note_usage(session: Session) -> None:
    """Note the usage of storage, of which the highest of a billing period counts."""
    usage.note_storage(session, size_bytes=stored_bytes(session), now=utc_now())


def recount(session: Session) -> dict[str, int]:
    """Count all rows; return by how much the totals are too low, by kind.

    During an upgrade, hosts of an older version change the rows without counting. One statement sees
    rows and total as they were at one moment, so that no writer waits while it counts.
    """
    shortfalls = {}
    for kind, counted in _COUNTED.items():
        total = select(AudioFileTotal.quantity).where(AudioFileTotal.kind == kind)
        counts = select(counted.scalar_subquery(), total.scalar_subquery())
        number, noted = session.execute(counts).one()
        shortfalls[kind] = number - (noted or 0)
    return shortfalls


def correct(session: Session, shortfalls: Mapping[str, int]) -> None:
    """Add to the totals what `recount` has found missing."""
    for kind, shortfall in shortfalls.items():
        if shortfall:
            add_at_commit(session, AudioFileTotal, kind, quantity=shortfall)
    before_commit(session, note_usage)


def _total(session: Session, kind: str) -> int:
    quantity = select(AudioFileTotal.quantity).where(AudioFileTotal.kind == kind)
    return session.scalar(quantity) or 0
