"""Erasures: request, find and erase batches, end and show."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.agents import receipts
from app.alerts import sending as alerts
from app.analytics.exports import service as exports
from app.audio_files import erasure as audio_files
from app.audio_files.models import AudioFile
from app.coaching import service as coaching
from app.conversations import service as conversations
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import SHOWN_STATES, JobState, Lease
from app.core.queue import Bell
from app.evaluations import erasure as evaluations
from app.privacy.models import Erasure
from app.privacy.records import SOURCE_TYPES, ErasureBatch
from app.reviews import service as reviews
from app.voice_calls import service as voice_calls
from app.voice_calls.models import VoiceCall

QUEUE = "erasures"
bell = partial(Bell, QUEUE)
# Sources of one short transaction.
BATCH = 20
# Sources of each type that one search returns.
_SEARCH_LIMIT = 1000
_COUNT_NAMES = ("conversations", "voiceCalls", "audioFiles", "evaluations", "exports")

Erase = Callable[[Session, Sequence[str]], dict[str, int]]


@dataclass(frozen=True, slots=True)
class _SourceType:
    """The ids of a type of sources, the condition for those of a customer, and their erasure."""

    ids: InstrumentedAttribute[str]
    is_of: Callable[[str], ColumnElement[bool]]
    erase: Erase


def request(session: Session, customer_ref: str, *, requested_by: str) -> dict[str, Any]:
    job = Erasure(
        id=new_id("era"),
        customer_ref=customer_ref,
        counts=dict.fromkeys(_COUNT_NAMES, 0),
        requested_by=requested_by,
    )
    session.add(job)
    session.flush()
    ring_after_commit(session, bell(job.id))
    return _record(job)


def show(session: Session, erasure_id: str) -> dict[str, Any]:
    """Return an erasure.

    Raises:
        NotFound: there is no such erasure.
    """
    return _record(find_row(session, Erasure, erasure_id, "erasure"))


def customer_of(session: Session, erasure_id: str) -> str:
    """Return the reference of the customer whose data an open erasure deletes."""
    return session.get_one(Erasure, erasure_id).customer_ref or ""


def find_batches(session: Session, erasure_id: str) -> list[ErasureBatch]:
    """Find the customer's remaining sources, up to a thousand of each type.

    The search reads every call and recording, so that it must not run in a write transaction.
    """
    customer_ref = customer_of(session, erasure_id)
    if not customer_ref:
        return []
    return [
        ErasureBatch(name, source_ids[first : first + BATCH])
        for name in _SOURCE_TYPES
        for source_ids in [_ids_of(session, customer_ref, name, limit=_SEARCH_LIMIT)]
        for first in range(0, len(source_ids), BATCH)
    ]


def confirmed(session: Session, erasure_id: str, batch: ErasureBatch) -> ErasureBatch:
    """Return the sources of a batch that still belong to the customer."""
    customer_ref = customer_of(session, erasure_id)
    source_ids = _ids_of(
        session, customer_ref, batch.source_type, limit=BATCH, among=batch.source_ids
    )
    return replace(batch, source_ids=source_ids)


def recorded(session: Session, batch: ErasureBatch) -> list[ErasureBatch]:
    """Return what the record of an erasure names: a batch, and recordings that its calls have.

    A backup may hold a recording without its link to the call.
    """
    if batch.source_type != "voiceCalls":
        return [batch]
    return [batch, ErasureBatch("audioFiles", voice_calls.recordings_of(session, batch.source_ids))]


def erase_batch(session: Session, lease: Lease[Erasure], batch: ErasureBatch) -> None:
    """Erase the sources of a batch that still belong to the customer."""
    job = leases.held(session, lease)
    _erase(session, job, confirmed(session, job.id, batch))


def unknown(session: Session, erasure_ids: Sequence[str]) -> list[str]:
    """Return the erasures that this database does not know: it is older than they are."""
    stored = set(session.scalars(select(Erasure.id)))
    return [erasure_id for erasure_id in erasure_ids if erasure_id not in stored]


def erase_again(session: Session, erasure_id: str, batch: ErasureBatch) -> None:
    """Erase a batch once more in a restored database, under the id of the former erasure."""
    job = session.get(Erasure, erasure_id)
    if job is None:
        job = Erasure(
            id=erasure_id,
            state=JobState.SUCCEEDED,
            counts=dict.fromkeys(_COUNT_NAMES, 0),
            requested_by="restore",
            completed_at=utc_now(),
        )
        session.add(job)
    _erase(session, job, batch)
    exports.withdraw_texts(session)


def finish(session: Session, lease: Lease[Erasure]) -> None:
    """End an erasure, and expire the export files that may contain erased data."""
    _end(session, leases.held(session, lease), JobState.SUCCEEDED)


def fail(session: Session, lease: Lease[Erasure], error: Exception) -> None:
    """End an erasure that failed repeatedly; a new request continues where it stopped.

    Export files that may contain erased data expire now: a new erasure would not know of them.
    """
    job = leases.held(session, lease)
    job.error = {
        "code": "INTERNAL",
        "message": "The erasure failed because of an internal error; request it again.",
    }
    _end(session, job, JobState.FAILED)


def erase_conversations(session: Session, conversation_ids: Sequence[str]) -> dict[str, int]:
    """Erase conversations and their evaluations; return the number of erased records by type."""
    if not conversation_ids:
        return {}
    conversations.erase(session, conversation_ids)
    return {"conversations": len(conversation_ids), **_erase_evaluations(session, conversation_ids)}


def erase_voice_calls(session: Session, voice_call_ids: Sequence[str]) -> dict[str, int]:
    if not voice_call_ids:
        return {}
    recordings = voice_calls.erase(session, voice_call_ids)
    counts = Counter(voiceCalls=len(voice_call_ids), **_erase_evaluations(session, voice_call_ids))
    return counts + Counter(erase_recordings(session, recordings))


def erase_recordings(session: Session, audio_file_ids: Sequence[str]) -> dict[str, int]:
    """Erase recordings and their evaluations; their bytes are deleted after the commit."""
    if not audio_file_ids:
        return {}
    count = audio_files.erase(session, audio_file_ids)
    return {"audioFiles": count, **_erase_evaluations(session, audio_file_ids)}


# By the name of their count.
_SOURCE_TYPES = dict(
    zip(
        SOURCE_TYPES,
        (
            _SourceType(Conversation.id, conversations.is_of, erase_conversations),
            _SourceType(VoiceCall.id, voice_calls.is_of, erase_voice_calls),
            _SourceType(AudioFile.id, audio_files.is_of, erase_recordings),
        ),
        strict=True,
    )
)


def _ids_of(
    session: Session,
    customer_ref: str,
    source_type: str,
    *,
    limit: int,
    among: Sequence[str] | None = None,
) -> Sequence[str]:
    sources = _SOURCE_TYPES[source_type]
    statement = select(sources.ids).where(sources.is_of(customer_ref)).limit(limit)
    if among is not None:
        statement = statement.where(sources.ids.in_(among))
    return session.scalars(statement).all()


def _erase(session: Session, job: Erasure, batch: ErasureBatch) -> None:
    erased = _SOURCE_TYPES[batch.source_type].erase(session, batch.source_ids)
    job.counts = {name: job.counts[name] + erased.get(name, 0) for name in _COUNT_NAMES}


def _erase_evaluations(session: Session, source_ids: Sequence[str]) -> dict[str, int]:
    evaluations.lock(session, source_ids)
    reviews.erase(session, source_ids)
    receipts.erase(session, source_ids)
    alerts.erase(session, source_ids)
    coaching.erase(session, source_ids)
    return {"evaluations": evaluations.erase(session, source_ids)}


def _end(session: Session, job: Erasure, state: JobState) -> None:
    withdrawn = exports.withdraw_texts(session) if any(job.counts.values()) else 0
    job.counts = {**job.counts, "exports": job.counts["exports"] + withdrawn}
    job.customer_ref = None
    leases.end(job, state, utc_now())


def _record(job: Erasure) -> dict[str, Any]:
    return {
        "erasure_id": job.id,
        "status": SHOWN_STATES[JobState(job.state)],
        "counts": job.counts,
        "requested_by": job.requested_by,
        "created_at": job.queued_at,
        "completed_at": job.completed_at,
        "error": job.error,
    }
