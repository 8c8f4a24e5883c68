"""Erasures: asked for, taken batch by batch through every room that keeps words, and shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.analytics.exports import service as exports
from app.audio_files import erasure as audio_files
from app.conversations import erasure as conversations
from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations import erasure as evaluations
from app.privacy.models import Erasure
from app.reviews import erasure as reviews
from app.voice_calls import erasure as voice_calls

QUEUE = "erasures"
# So many sources are one short transaction.
BATCH = 20
_FOUND_AT_ONCE = 1000
_COUNTED = ("conversations", "voiceCalls", "audioFiles", "evaluations", "exports")
_STATUS = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "running",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
}


class OfCustomer(Protocol):
    """Lists the ids of a customer's sources: all of a kind, or those among these."""

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
class Batch:
    """A few sources of one kind, the customer's when they were found."""

    of_customer: OfCustomer
    erase: Erase
    source_ids: Sequence[str]


def bell(erasure_id: str) -> Bell:
    """Return the bell that tells a worker of an erasure."""
    return Bell(QUEUE, erasure_id)


def request(session: Session, customer_ref: str, *, requested_by: str) -> dict[str, Any]:
    """Queue the erasure of all that is kept of a customer."""
    now = utc_now()
    job = Erasure(
        id=new_id("era"),
        customer_ref=customer_ref,
        counts=dict.fromkeys(_COUNTED, 0),
        requested_by=requested_by,
        due_at=now,
        queued_at=now,
    )
    session.add(job)
    session.flush()
    ring_after_commit(session, bell(job.id))
    return _shown(job)


def show(session: Session, erasure_id: str) -> dict[str, Any]:
    """Show an erasure; `NotFound` where there is none."""
    job = session.get(Erasure, erasure_id)
    if job is None:
        raise NotFound("There is no such erasure.")
    return _shown(job)


def claim(session: Session, erasure_id: str) -> Lease[Erasure] | None:
    """Take an erasure to work on."""
    return leases.claim(session, Erasure, erasure_id)


def look(session: Session, erasure_id: str) -> list[Batch]:
    """Find what there is of the customer by now, up to a thousand of a kind; none when all is gone.

    Calls and recordings are found by looking at each: not a thing for a write transaction.
    """
    customer_ref = session.get_one(Erasure, erasure_id).customer_ref
    if customer_ref is None:
        return []
    return [
        Batch(of_customer, erase, found[first : first + BATCH])
        for of_customer, erase in _KINDS
        for found in [of_customer(session, customer_ref, limit=_FOUND_AT_ONCE)]
        for first in range(0, len(found), BATCH)
    ]


def erase_batch(session: Session, lease: Lease[Erasure], batch: Batch) -> None:
    """Erase what was found, as far as it is the customer's still."""
    job = leases.held(session, lease)
    theirs = batch.of_customer(session, job.customer_ref or "", limit=BATCH, among=batch.source_ids)
    erased = batch.erase(session, theirs)
    job.counts = {name: job.counts[name] + erased.get(name, 0) for name in _COUNTED}


def finish(session: Session, lease: Lease[Erasure]) -> None:
    """End an erasure, and with it the files that could hold what it has erased."""
    _end(session, leases.held(session, lease), JobState.SUCCEEDED)


def fail(session: Session, lease: Lease[Erasure], error: Exception) -> None:
    """End an erasure that failed repeatedly; a new request continues where it stopped.

    The files that could hold what it has erased end now: the next one wouldn't know of it.
    """
    job = leases.held(session, lease)
    job.error = {
        "code": "INTERNAL",
        "message": "The erasure failed because of an internal error; request it again.",
    }
    _end(session, job, JobState.FAILED)


def erase_conversations(session: Session, conversation_ids: Sequence[str]) -> dict[str, int]:
    """Erase conversations and all that was made of them; return how many of what."""
    if not conversation_ids:
        return {}
    conversations.erase(session, conversation_ids)
    return {"conversations": len(conversation_ids), **_judged(session, conversation_ids)}


def erase_voice_calls(session: Session, voice_call_ids: Sequence[str]) -> dict[str, int]:
    """Erase voice calls with their recordings and all that was made of them."""
    if not voice_call_ids:
        return {}
    recordings = voice_calls.erase(session, voice_call_ids)
    counts = _judged(session, voice_call_ids)
    heard = erase_recordings(session, recordings)
    counts["evaluations"] += heard.pop("evaluations", 0)
    return {"voiceCalls": len(voice_call_ids), **counts, **heard}


def erase_recordings(session: Session, audio_file_ids: Sequence[str]) -> dict[str, int]:
    """Erase recordings and all that was made of them; their bytes go after the commit."""
    if not audio_file_ids:
        return {}
    audio_files.erase(session, audio_file_ids)
    return {"audioFiles": len(audio_file_ids), **_judged(session, audio_file_ids)}


_KINDS: tuple[tuple[OfCustomer, Erase], ...] = (
    (conversations.of_customer, erase_conversations),
    (voice_calls.of_customer, erase_voice_calls),
    (audio_files.of_customer, erase_recordings),
)


def _judged(session: Session, source_ids: Sequence[str]) -> dict[str, int]:
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
