"""Totals of recordings, kept as counters, and the limits that uploads have by them.

Counting and adding up all rows takes too long.
"""

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile, AudioFileTotal
from app.core.clock import utc_now
from app.core.database.counters import add_at_commit
from app.core.database.session import before_commit
from app.core.errors import Conflict, InvalidInput
from app.core.runtime import Runtime
from app.usage import service as usage
from app.usage.plan import UsageMetric, plan_of

_RECORDINGS, _STORED_BYTES = "recordings", "stored bytes"
_COUNTED = {
    _RECORDINGS: select(func.count()).select_from(AudioFile),
    _STORED_BYTES: select(func.coalesce(func.sum(AudioFile.size_bytes), 0)).where(
        AudioFile.uploaded_at.is_not(None)
    ),
}
_RESERVED_BYTES = select(func.sum(AudioFile.size_bytes)).where(
    AudioFile.status == AudioStatus.PENDING_UPLOAD
)


def recordings(session: Session) -> int:
    """Return the number of recordings, with those that were not uploaded."""
    return _total(session, _RECORDINGS)


def _stored_bytes(session: Session) -> int:
    """Return the total size of the stored recordings."""
    return _total(session, _STORED_BYTES)


def add_recordings(session: Session, number: int) -> None:
    """Add to the number of recordings when this transaction commits."""
    add_at_commit(session, AudioFileTotal, _RECORDINGS, quantity=number)


def add_stored_bytes(session: Session, size_bytes: int) -> None:
    """Add the size of a recording when this transaction commits, and note the usage of storage."""
    add_at_commit(session, AudioFileTotal, _STORED_BYTES, quantity=size_bytes)
    before_commit(session, note_usage)


def note_usage(session: Session) -> None:
    """Note the usage of storage, of which the highest of a billing period counts."""
    usage.note_storage(session, size_bytes=_stored_bytes(session), now=utc_now())


def recount(session: Session) -> None:
    """Count all rows: during an upgrade, hosts of an older version change them without counting."""
    for kind, counted in _COUNTED.items():
        # Locks the row: transactions that ended have added their recordings, all others wait.
        AudioFileTotal.add(session, kind, {"quantity": 0})
        session.execute(
            update(AudioFileTotal)
            .where(AudioFileTotal.kind == kind)
            .values(quantity=counted.scalar_subquery())
        )


def check_upload(session: Session, runtime: Runtime, size_bytes: int) -> None:
    """Refuse an upload that does not fit with the stored and reserved recordings.

    Raises:
        InvalidInput: the recording is too large.
        Conflict: the plan's storage is used up.
        DiskFull: too little disk space is free.
    """
    settings = runtime.settings
    if size_bytes > settings.upload_max_bytes:
        message = f"sizeBytes must be at most {settings.upload_max_bytes}."
        raise InvalidInput.field("sizeBytes", message, code="RANGE")
    needed_bytes = size_bytes + (session.scalar(_RESERVED_BYTES) or 0)
    plan_bytes = plan_of(settings).included[UsageMetric.STORAGE_GB]
    is_limited = settings.plan_storage_enforced and plan_bytes is not None
    if is_limited and _stored_bytes(session) + needed_bytes > plan_bytes:
        raise Conflict("The plan's storage is used up: delete recordings, or enlarge the plan.")
    runtime.storage.require_space(needed_bytes)


def _total(session: Session, kind: str) -> int:
    quantity = select(AudioFileTotal.quantity).where(AudioFileTotal.kind == kind)
    return session.scalar(quantity) or 0
