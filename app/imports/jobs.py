"""The work on imports: read and check outside of any transaction, write in short ones."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.runner import Interrupted, LeasedWork, take
from app.core.runtime import Runtime
from app.web.current import current_runtime
from app.core.storage import require_space
from app.imports import applying, preparing, service, sources
from app.imports.applying import Rehearsed
from app.imports.models import Import
from app.imports.notebook import Notebook
from app.imports.options import Options
from app.imports.preparing import Prepared
from app.imports.sources import Document

_KEPT = timedelta(days=90)
_BETWEEN_BATCHES_S = 0.05


def run_import(import_id: str) -> None:
    """Work on this import, or on the one that waits longest; without any, do nothing.

    Safe to run twice: the records that are counted are passed over by whoever comes next.
    """
    runtime = current_runtime()
    lease = take(runtime, import_id, service.claim, _Importing)
    if lease is not None and lease.job_id != import_id:
        runtime.doorbell.ring(service.bell(import_id))


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the imports that wait for a worker, or were left by one that has ended."""
    with runtime.db.reading() as session:
        return leases.due_ids(session, Import)


def purge(runtime: Runtime) -> None:
    """Forget imports that ended long ago, a few at a time."""
    before = utc_now() - _KEPT
    while _purge_once(runtime, before):
        time.sleep(_BETWEEN_BATCHES_S)


def _purge_once(runtime: Runtime, before: datetime) -> int:
    with runtime.db.writing() as session:
        return service.purge(session, before=before)


class _Importing(LeasedWork[Import]):
    def work(self) -> None:
        task = self.write(service.begin)
        settings = self.runtime.settings
        documents = _opened(task.format, task.documents)
        with Notebook() as notebook:
            found = preparing.prepared(
                sources.entries(documents, task.options), task.options, notebook
            )
            for batch in preparing.batches(islice(found, task.done, None)):
                self.require_going_on()
                require_space(settings.data_dir, 0, settings.min_free_bytes)
                self._apply(batch, task.options)
        self.write(service.finish)

    def give_up(self, error: Exception) -> None:
        if isinstance(error, Interrupted):
            code, what = "INTERRUPTED", "was cut off too often"
        else:
            code, what = "INTERNAL", "failed on our side"
        self.write(
            service.give_up, code, f"The work on this import {what}; send the rest of it again."
        )

    def _apply(self, batch: Sequence[Prepared], options: Options) -> None:
        """Write a batch and its counts at once; of a dry run only the counts stay."""
        try:
            with self.runtime.db.writing() as session:
                tally = applying.apply(session, batch, options)
                service.note(session, self.lease, tally)
        except Rehearsed as rehearsal:
            self.write(service.note, rehearsal.tally)


def _opened(name: str, documents: Sequence[Mapping[str, str | None]]) -> Iterator[Document]:
    for each in documents:
        content = io.BytesIO((each["content"] or "").encode())
        yield Document(name, content, each["externalId"])
