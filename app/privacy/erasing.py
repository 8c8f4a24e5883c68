"""Erasure of a customer's words: short transactions, and stored bytes after each commit."""

from collections.abc import Sequence

from app.audio_files import erasure as audio_files
from app.audio_files.playback import objects as playback
from app.core.jobs.runner import JobType, RunningJob, run_next
from app.core.runtime import Runtime
from app.privacy import service
from app.privacy.models import Erasure
from app.privacy.service import Batch


def run_erasure(runtime: Runtime, erasure_id: str) -> None:
    """Run this erasure, or the one that waits longest.

    Safe to run twice: the second run finds nothing more to erase.
    """
    job_type = JobType(claim=service.claim, handle=_erase, fail=service.fail)
    lease = run_next(runtime, job_type, erasure_id)
    if lease is not None and lease.job_id != erasure_id:
        runtime.doorbell.ring(service.bell(erasure_id))


def purge_bytes(runtime: Runtime) -> int:
    """Delete the bytes of recordings that were given up; return how many recordings."""
    count = 0
    while True:
        with runtime.db.reading() as session:
            given_up = audio_files.to_purge(session)
        if not given_up:
            return count
        for audio_file_id in given_up:
            playback.delete(runtime.storage, audio_file_id)
            runtime.storage.delete(audio_file_id)
        with runtime.db.writing() as session:
            audio_files.note_purged(session, given_up)
        count += len(given_up)


def _erase(job: RunningJob[Erasure]) -> None:
    """Erase batch by batch until a new search finds nothing of the customer."""
    while batches := _found(job):
        for batch in batches:
            with job.transaction() as session:
                service.erase_batch(session, job.lease, batch)
            purge_bytes(job.runtime)
            job.require_going_on()
    purge_bytes(job.runtime)
    with job.transaction() as session:
        service.finish(session, job.lease)


def _found(job: RunningJob[Erasure]) -> Sequence[Batch]:
    with job.runtime.db.reading() as session:
        return service.look(session, job.lease.job_id)
