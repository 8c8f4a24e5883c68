"""The erasing itself: short transactions one after the other, and the bytes after each commit."""

from collections.abc import Sequence

from app.audio_files import erasure as audio_files
from app.core.jobs.runner import LeasedWork, take
from app.core.runtime import Runtime
from app.privacy import service
from app.privacy.models import Erasure
from app.privacy.service import Batch


def work(runtime: Runtime, erasure_id: str) -> None:
    """Work on this erasure, or on the one that waits longest.

    Safe to run twice: what is erased is found no more.
    """
    lease = take(runtime, erasure_id, service.claim, _Erasing)
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
            runtime.storage.delete(audio_file_id)
        with runtime.db.writing() as session:
            audio_files.note_purged(session, given_up)
        count += len(given_up)


class _Erasing(LeasedWork[Erasure]):
    def work(self) -> None:
        # What comes in, or becomes the customer's, behind one look is found by the next.
        while batches := self._found():
            for batch in batches:
                self.write(service.erase_batch, batch)
                purge_bytes(self.runtime)
                self.require_going_on()
        purge_bytes(self.runtime)
        self.write(service.finish)

    def give_up(self, error: Exception) -> None:
        self.write(service.give_up)

    def _found(self) -> Sequence[Batch]:
        with self.runtime.db.reading() as session:
            return service.look(session, self.lease.job_id)
