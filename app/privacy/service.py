"""Erasures: request, claim, find and erase batches, end and show."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.exports import service as exports
from app.audio_files import erasure as audio_files
from app.conversations import erasure as conversations
from app.core.clock import utc_now
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations import erasure as evaluations
from app.privacy.models import Erasure
from app.privacy.records import ErasedSources
from app.reviews import erasure as reviews
from app.voice_calls import erasure as voice_calls

QUEUE = "erasures"
bell = partial(Bell, QUEUE)
# Sources of one short transaction.
BATCH = 20
# Sources of each type that one search returns.
_SEARCH_LIMIT = 1000
_COUNT_NAMES = ("conversations", "voiceCalls", "audioFiles", "evaluations", "exports")
_STATUS = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "running",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
}


class FindSources(Protocol):
    """Returns the ids of a customer's sources of one type, optionally only those in `among`."""

    def __call__(
        self,
        session: Session,
        customer_ref: str,
        /,
        *,
        limit: int,
        among: Sequence[str] | None = None,
    ) -> Sequence[str]: ...


Erase = Callable[[Session, Sequence[str]], dict[str, int]]


@dataclass(frozen=True, slots=True)
class ErasureBatch:
    """Some sources of one type that belonged to the customer when they were found."""

    source_type: str
    find_sources: FindSources
    erase: Erase
    source_ids: Sequence[str]


def request(session: Session, customer_ref: str, *, requested_by: str) -> dict[str, Any]:
    """Queue the erasure of a customer's data."""
    job = Erasure(
        id=new_id("era"),
        customer_ref=customer_ref,
        counts=dict.fromkeys(_COUNT_NAMES, 0),
        requested_by=requested_by,
    )
    session.add(job)
    session.flush()
    ring_after_commit(session, bell(job.id))
    return _shown(job)


def show(session: Session, erasure_id: str) -> dict[str, Any]:
    """Return an erasure.

    Raises:
        NotFound: there is no such erasure.
    """
    job = find_row(session, Erasure, erasure_id, "erasure")
    return _shown(job)


def claim(session: Session, erasure_id: str) -> Lease[Erasure] | None:
    """Claim this erasure, or the one that waits longest; None if none waits."""
    return leases.claim(session, Erasure, erasure_id)


def find_batches(session: Session, erasure_id: str) -> list[ErasureBatch]:
    """Find the customer's remaining sources, up to a thousand of each type.

    The search reads every call and recording, so that it must not run in a write transaction.
    """
    customer_ref = session.get_one(Erasure, erasure_id).customer_ref
    if customer_ref is None:
        return []
    return [
        ErasureBatch(name, find_sources, erase, source_ids[first : first + BATCH])
        for name, (find_sources, erase) in _SOURCE_TYPES.items()
        for source_ids in [find_sources(session, customer_ref, limit=_SEARCH_LIMIT)]
        for first in range(0, len(source_ids), BATCH)
    ]


def erase_batch(session: Session, lease: Lease[Erasure], batch: ErasureBatch) -> ErasedSources:
    """Erase the sources of a batch that still belong to the customer, and return them."""
    job = leases.held(session, lease)
    source_ids = batch.find_sources(
        session, job.customer_ref or "", limit=BATCH, among=batch.source_ids
    )
    erased = batch.erase(session, source_ids)
    _count(job, erased)
    return ErasedSources(batch.source_type, source_ids)


def not_known(session: Session, erasure_ids: Sequence[str]) -> list[str]:
    """Return the erasures that this database does not know: it is older than they are."""
    known = set(session.scalars(select(Erasure.id)))
    return [erasure_id for erasure_id in erasure_ids if erasure_id not in known]


def erase_again(session: Session, erasure_id: str, erased: ErasedSources) -> None:
    """Erase sources once more in a restored database, under the id of the former erasure."""
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
    _, erase = _SOURCE_TYPES[erased.source_type]
    _count(job, erase(session, erased.source_ids))
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
    """Erase voice calls with their recordings and evaluations."""
    if not voice_call_ids:
        return {}
    recordings = voice_calls.erase(session, voice_call_ids)
    counts = Counter(voiceCalls=len(voice_call_ids), **_erase_evaluations(session, voice_call_ids))
    return counts + Counter(erase_recordings(session, recordings))


def erase_recordings(session: Session, audio_file_ids: Sequence[str]) -> dict[str, int]:
    """Erase recordings and their evaluations; their bytes are deleted after the commit."""
    if not audio_file_ids:
        return {}
    audio_files.erase(session, audio_file_ids)
    return {"audioFiles": len(audio_file_ids), **_erase_evaluations(session, audio_file_ids)}


# By the name of their count.
_SOURCE_TYPES: dict[str, tuple[FindSources, Erase]] = {
    "conversations": (conversations.of_customer, erase_conversations),
    "voiceCalls": (voice_calls.of_customer, erase_voice_calls),
    "audioFiles": (audio_files.of_customer, erase_recordings),
}


def _count(job: Erasure, erased: dict[str, int]) -> None:
    job.counts = {name: job.counts[name] + erased.get(name, 0) for name in _COUNT_NAMES}


def _erase_evaluations(session: Session, source_ids: Sequence[str]) -> dict[str, int]:
    reviews.erase(session, source_ids)
    return {"evaluations": evaluations.erase(session, source_ids)}


def _end(session: Session, job: Erasure, state: JobState) -> None:
    retired = exports.withdraw_texts(session) if any(job.counts.values()) else 0
    job.counts = {**job.counts, "exports": job.counts["exports"] + retired}
    job.customer_ref = None
    leases.end(job, state, utc_now())


def _shown(job: Erasure) -> dict[str, Any]:
    return {
        "erasure_id": job.id,
        "status": _STATUS[JobState(job.state)],
        "counts": job.counts,
        "requested_by": job.requested_by,
        "created_at": job.queued_at,
        "completed_at": job.completed_at,
        "error": job.error,
    }
