"""Jobs that load imports: read and validate outside of any transaction, then write in batches."""

import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import BinaryIO, cast

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.purging import delete_older, purge_older
from app.core.jobs.runner import Interrupted, JobType, RunningJob, answer_bell, list_due, run_next
from app.core.process.stopping import Stopped
from app.core.runtime import Runtime
from app.core.storage.files import require_space
from app.imports import files, service, uploads
from app.imports.files import UnknownFormat
from app.imports.loading.input import Document, ImportOptions, entries_of
from app.imports.loading.load import DryRunRollback, load_batch
from app.imports.loading.normalise import DiskSet, NormalisedRecord, batches_of, normalised
from app.imports.models import Import
from app.imports.schemas.records import validator
from app.imports.service import ImportTask

_KEPT_DAYS = 90
# After this time, an import lets others in that wait.
_TURN_S = 5.0
due_ids = partial(list_due, Import)


class _FileMissing(Exception):
    code, message = "BYTES_MISSING", "The uploaded file is gone: send it again."


def run_import(runtime: Runtime, import_id: str) -> None:
    """Load this import, or the one that waits longest; do nothing if none waits.

    Safe to run twice: the second run continues after the records that were counted. An import that
    lasts lets others in after each turn of some seconds, so that a short one does not wait for it.
    """
    handle = partial(_load_import, end_turn=_let_others_in)
    job_type = _job_type(partial(leases.claim, table=Import), handle)
    answer_bell(runtime, job_type, service.bell(import_id))


def purge(runtime: Runtime) -> None:
    """Delete imports that ended more than 90 days ago, in small batches."""
    purge_older(runtime, _KEPT_DAYS, partial(delete_older, moment=Import.completed_at))


def forget_documents(runtime: Runtime) -> None:
    """Delete the input of imports that ended over an hour ago, and imports without their file."""
    before = utc_now() - service.INPUT_KEPT_FOR
    with runtime.db.writing() as session:
        file_ids = service.forget_documents(session, before=before)
        uploads.expire(session, before=before)
    for file_id in file_ids:
        runtime.storage.delete(file_id)


def orphaned(runtime: Runtime, file_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these stored files that no import needs."""
    with runtime.db.reading() as session:
        needed = uploads.needed_among(session, file_ids)
    return [file_id for file_id in file_ids if file_id not in needed]


def _job_type(
    claim: Callable[[Session, str], Lease[Import] | None],
    handle: Callable[[RunningJob[Import]], None],
) -> JobType[Import]:
    return JobType(
        claim=claim,
        handle=handle,
        fail=_fail,
        is_final=lambda error: isinstance(error, UnknownFormat | _FileMissing),
    )


def _let_others_in(job: RunningJob[Import]) -> None:
    """Run imports that wait and were never begun, each for one turn, and for about one in all.

    One that needs more than its turn waits until a worker is free: it would read its input from the
    start again at each turn.
    """
    handle = partial(_load_import, end_turn=_give_back)
    job_type = _job_type(_claim_unbegun, handle)
    until = time.monotonic() + _TURN_S
    while time.monotonic() < until and run_next(job.runtime, job_type, "") is not None:
        pass


def _claim_unbegun(session: Session, _: str) -> Lease[Import] | None:
    unbegun = Import.started_at.is_(None)
    return next(iter(leases.claim_new(session, Import, unbegun, limit=1)), None)


def _give_back(_: RunningJob[Import]) -> None:
    raise Stopped


class _InTurns(io.BufferedIOBase):
    """The lines of a stream, whose reader ends a turn in time, also where many are no record."""

    def __init__(self, stream: BinaryIO, end_turn: Callable[[], None]) -> None:
        self._stream, self._end_turn = stream, end_turn
        self._ends_at = time.monotonic() + _TURN_S

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line, after others had their turn if this one is over."""
        if time.monotonic() > self._ends_at:
            self._end_turn()
            self._ends_at = time.monotonic() + _TURN_S
        return self._stream.readline(-1 if size is None else size)


def _load_import(
    job: RunningJob[Import], *, end_turn: Callable[[RunningJob[Import]], None]
) -> None:
    """Load the records of one import, batch by batch; each `with` is one short transaction.

    Args:
        end_turn: called while the input is read, outside of any transaction, when a turn is over.
    """
    with job.transaction() as session:
        task = service.start(session, job.lease, job.runtime.keyring)
    settings = job.runtime.settings
    with closing(DiskSet()) as seen_keys, documents_of(job.runtime, task) as documents:
        in_turns = (
            replace(
                document, stream=cast(BinaryIO, _InTurns(document.stream, partial(end_turn, job)))
            )
            for document in documents
        )
        validate = validator(job.runtime, task.options)
        records = normalised(entries_of(in_turns, task.options), seen_keys, validate)
        for batch in batches_of(islice(records, task.done, None)):
            job.require_going_on()
            require_space(settings.data_dir, 0, settings.min_free_bytes)
            _write_batch(job, batch, task.options)
    with job.transaction() as session:
        service.finish(session, job.lease)
    if task.file_id and not task.options.dry_run:
        job.runtime.storage.delete(task.file_id)


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
    if isinstance(error, UnknownFormat | _FileMissing):
        service.fail(session, lease, error.code, error.message)
        return
    if isinstance(error, Interrupted):
        code, reason = "INTERRUPTED", "was interrupted too often"
    else:
        code, reason = "INTERNAL", "failed because of an internal error"
    message = f"The import {reason}; try it again within an hour, or send the rest again."
    service.fail(session, lease, code, message)


@contextmanager
def documents_of(runtime: Runtime, task: ImportTask) -> Iterator[Iterator[Document]]:
    """Open the uploaded file, or the documents of the request."""
    if task.file_id is None:
        yield (
            Document(
                task.format,
                io.BytesIO((document["content"] or "").encode()),
                document["externalId"],
            )
            for document in task.documents
        )
        return
    with runtime.storage.local_copy(task.file_id) as copy:
        if copy is None:
            raise _FileMissing
        with copy.path.open("rb") as stream:
            key = files.key_of(task.file_name)
            yield iter([files.document_of(stream, task.file_name, task.format, key)])
