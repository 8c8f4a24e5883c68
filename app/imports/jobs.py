"""Jobs that load imports: read and validate outside of any transaction, then write in batches."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.runner import Interrupted, JobType, RunningJob, run_next
from app.core.runtime import Runtime
from app.core.storage.files import require_space
from app.imports import service
from app.imports.loading.disk_set import DiskSet
from app.imports.loading.documents import Document, entries_of
from app.imports.loading.load import DryRunRollback, load_batch
from app.imports.loading.normalise import NormalisedRecord, batches_of, normalised
from app.imports.models import Import
from app.imports.options import ImportOptions

_KEPT_FOR = timedelta(days=90)
_DRY_RUNS_KEPT_FOR = timedelta(hours=1)
_BETWEEN_BATCHES_S = 0.05


def run_import(runtime: Runtime, import_id: str) -> None:
    """Load this import, or the one that waits longest; do nothing if none waits.

    Safe to run twice: the second run continues after the records that were counted.
    """
    job_type = JobType(claim=service.claim, handle=_load_import, fail=_fail)
    lease = run_next(runtime, job_type, import_id)
    if lease is not None and lease.job_id != import_id:
        runtime.doorbell.ring(service.bell(import_id))


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the imports that wait for a worker, or whose worker has ended."""
    with runtime.db.reading() as session:
        return leases.due_ids(session, Import)


def purge(runtime: Runtime) -> None:
    """Delete imports that ended more than 90 days ago, in small batches."""
    before = utc_now() - _KEPT_FOR
    while _purge_once(runtime, before):
        time.sleep(_BETWEEN_BATCHES_S)


def forget_documents(runtime: Runtime) -> None:
    """Delete the documents of dry runs that ended over an hour ago."""
    with runtime.db.writing() as session:
        service.forget_documents(session, before=utc_now() - _DRY_RUNS_KEPT_FOR)


def _purge_once(runtime: Runtime, before: datetime) -> int:
    with runtime.db.writing() as session:
        return service.purge(session, before=before)


def _load_import(job: RunningJob[Import]) -> None:
    """Load the records of one import, batch by batch; each `with` is one short transaction."""
    with job.transaction() as session:
        task = service.start(session, job.lease, job.runtime.keyring)
    settings = job.runtime.settings
    documents = _opened(task.format, task.documents)
    with closing(DiskSet()) as seen_keys:
        records = normalised(
            entries_of(documents, task.options),
            task.options,
            seen_keys,
            job.runtime.hooks.check_import_record,
        )
        for batch in batches_of(islice(records, task.done, None)):
            job.require_going_on()
            require_space(settings.data_dir, 0, settings.min_free_bytes)
            _write_batch(job, batch, task.options)
    with job.transaction() as session:
        service.finish(session, job.lease)


def _write_batch(
    job: RunningJob[Import], batch: Sequence[NormalisedRecord], options: ImportOptions
) -> None:
    """Write a batch and its counts in one transaction; a dry run writes only the counts."""
    try:
        with job.transaction() as session:
            counts = load_batch(session, batch, options)
            service.add_counts(session, job.lease, counts)
    except DryRunRollback as rollback:
        with job.transaction() as session:
            service.add_counts(session, job.lease, rollback.counts)


def _fail(session: Session, lease: Lease[Import], error: Exception) -> None:
    if isinstance(error, Interrupted):
        code, reason = "INTERRUPTED", "was interrupted too often"
    else:
        code, reason = "INTERNAL", "failed because of an internal error"
    service.fail(session, lease, code, f"The import {reason}; send the remaining records again.")


def _opened(format: str, documents: Sequence[Mapping[str, str | None]]) -> Iterator[Document]:
    for document in documents:
        content = io.BytesIO((document["content"] or "").encode())
        yield Document(format, content, document["externalId"])
