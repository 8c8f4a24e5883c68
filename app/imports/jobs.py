"""Jobs that load imports: they read and validate outside of any transaction, then write."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.runner import Interrupted, JobType, RunningJob, run_next
from app.core.runtime import Runtime
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


def run_import(runtime: Runtime, import_id: str) -> None:
    """Load this import, or the one that waits longest; without any, do nothing.

    Safe to run twice: records that were counted are skipped by the next attempt.
    """
    job_type = JobType(claim=service.claim, handle=_load_import, fail=_fail)
    lease = run_next(runtime, job_type, import_id)
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


def _load_import(job: RunningJob[Import]) -> None:
    """Load the records of one import, batch by batch; each `with` is one short transaction."""
    with job.transaction() as session:
        task = service.begin(session, job.lease, job.runtime.keyring)
    settings = job.runtime.settings
    documents = _opened(task.format, task.documents)
    with Notebook() as notebook:
        records = preparing.prepared(
            sources.entries(documents, task.options),
            task.options,
            notebook,
            job.runtime.hooks.check_import_record,
        )
        for batch in preparing.batches(islice(records, task.done, None)):
            job.require_going_on()
            require_space(settings.data_dir, 0, settings.min_free_bytes)
            _write_batch(job, batch, task.options)
    with job.transaction() as session:
        service.finish(session, job.lease)


def _write_batch(job: RunningJob[Import], batch: Sequence[Prepared], options: Options) -> None:
    """Write a batch and its counts in one transaction; a dry run keeps only the counts."""
    try:
        with job.transaction() as session:
            tally = applying.apply(session, batch, options)
            service.note(session, job.lease, tally)
    except Rehearsed as rehearsal:
        with job.transaction() as session:
            service.note(session, job.lease, rehearsal.tally)


def _fail(session: Session, lease: Lease[Import], error: Exception) -> None:
    if isinstance(error, Interrupted):
        code, reason = "INTERRUPTED", "was interrupted too often"
    else:
        code, reason = "INTERNAL", "failed because of an internal error"
    service.fail(session, lease, code, f"This import {reason}; send the rest of it again.")


def _opened(name: str, documents: Sequence[Mapping[str, str | None]]) -> Iterator[Document]:
    for each in documents:
        content = io.BytesIO((each["content"] or "").encode())
        yield Document(name, content, each["externalId"])
