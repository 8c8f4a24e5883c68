"""Total size of the stored recordings: kept as a counter, because adding up all rows takes too long."""

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.audio_files.models import AudioFile, AudioFileTotal
from app.core.clock import utc_now
from app.core.database.counters import add_at_commit
from app.core.database.session import before_commit
from app.usage import service as usage

_KIND = "stored bytes"
_IS_TOTAL = AudioFileTotal.kind == _KIND
_SUM = select(func.coalesce(func.sum(AudioFile.size_bytes), 0)).where(
    AudioFile.uploaded_at.is_not(None)
)


def total(session: Session) -> int:
    """Return the total size of the stored recordings."""
    return session.scalar(select(AudioFileTotal.quantity).where(_IS_TOTAL)) or 0


def add(session: Session, size_bytes: int) -> None:
    """Add the size of a recording when this transaction commits, and note the usage of storage."""
    add_at_commit(session, AudioFileTotal, _KIND, quantity=size_bytes)
    before_commit(session, note_usage)


def note_usage(session: Session) -> None:
    """Note the usage of storage, of which the highest of a billing period counts."""
    usage.note_storage(session, size_bytes=total(session), now=utc_now())


def recount(session: Session) -> None:
    """Add up all rows: during an upgrade, hosts of an older version store without counting."""
    # Locks the row: transactions that ended have added their recordings, all others wait.
    AudioFileTotal.add(session, _KIND, {"quantity": 0})
    session.execute(update(AudioFileTotal).where(_IS_TOTAL).values(quantity=_SUM.scalar_subquery()))
