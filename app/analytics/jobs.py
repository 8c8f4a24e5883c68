"""Jobs of analytics: writing and purging exports, and writing parts."""

import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy.orm import Session

from app.analytics.engine import parts
from app.analytics.engine.database import fact_database, parts_folder
from app.analytics.exports import service
from app.analytics.exports.datasets import catalogue
from app.analytics.exports.datasets.columns import Values
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.service import ExportTask
from app.analytics.exports.writers import TooManyRows, open_writer
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.jobs.leases import Lease, LeaseLost
from app.core.jobs.runner import Interrupted, JobType, RunningJob, list_due, run_next
from app.core.principal import limited_to
from app.core.process import stopping
from app.core.runtime import Runtime
from app.core.storage.files import require_space
from app.core.storage.objects import StoredObject

# Up to this number, pending facts stay in their table, where each report reads them.
_PENDING_BEFORE_WRITE = 500
_ROWS_KEPT = timedelta(days=90)
due_ids = partial(list_due, ExportJob)
TOO_MANY_ROWS = "A sheet cannot have so many rows: request csv, jsonl or parquet."


def run_export(runtime: Runtime, job_id: str = "") -> None:
    """Run this export, or one that is due, and continue until none is left."""
    job_type = JobType(
        claim=service.claim,
        handle=_write_export,
        fail=_fail,
        is_final=lambda error: isinstance(error, TooManyRows),
    )
    while not stopping.requested() and run_next(runtime, job_type, job_id):
        pass


def purge_exports(runtime: Runtime) -> int:
    with runtime.db.reading() as session:
        files = service.expired_files(session, utc_now())
    for object_id in files.values():
        runtime.storage.delete(object_id)
    if files:
        with runtime.db.writing() as session:
            service.note_deleted(session, files)
    return len(files)


def purge_export_rows(runtime: Runtime) -> None:
    """Delete the rows of exports that ended 90 days ago."""
    with runtime.db.writing() as session:
        service.purge(session, before=utc_now() - _ROWS_KEPT)


def clear_spool(runtime: Runtime) -> None:
    """Delete the spool files that killed workers left behind."""
    files = [*_spool(runtime).glob("exp_*")]
    with runtime.db.reading() as session:
        running = service.running_object_ids(session)
    for file in files:
        if file.name.partition(".")[0] in running:
            continue
        if file.is_dir():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)


def orphaned(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    with runtime.db.reading() as session:
        return service.orphaned(session, object_ids)


def write_parts(runtime: Runtime, *, at_least: int = _PENDING_BEFORE_WRITE) -> int:
    """Write pending facts into parts when there are `at_least` of them; return how many."""
    with runtime.db.reading() as session:
        count = parts.pending_count(session)
    if count < at_least:
        return 0
    return parts.write_pending(runtime.db, fact_database(runtime.settings))


def tidy_parts(runtime: Runtime) -> None:
    """Write the last pending facts into parts, replace lost files, and delete unused ones."""
    database = fact_database(runtime.settings)
    parts.discard_lost(runtime.db, database)
    write_parts(runtime, at_least=1)
    parts.delete_unused(runtime.db, database.folder)


def orphaned_parts(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    with runtime.db.reading() as session:
        return parts.orphaned(session, parts_folder(runtime.settings), object_ids)


def write_file(
    runtime: Runtime, request: ExportRequest, path: Path, on_progress: Callable[[int], None]
) -> int:
    """Write an export into a file; `on_progress` receives the percentage. Return the row count."""
    snapshot = _spool(runtime) / f"{new_id('exp')}.copy"
    part = path.with_name(path.name + ".part")
    batches = catalogue.batches(runtime, request, snapshot, stopping.never_stop)
    try:
        row_count = _write_batches(runtime, request, part, batches, on_progress)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        snapshot.unlink(missing_ok=True)
    return row_count


def _write_export(job: RunningJob[ExportJob]) -> None:
    """Write the file of one export, store it and offer it for download."""
    with job.transaction() as session:
        task = service.begin(session, job.lease)
    if task.former_object_id is not None:
        job.runtime.storage.delete(task.former_object_id)
        clear_spool(job.runtime)
    stored, row_count = _store_file(job, task)
    try:
        with job.transaction() as session:
            service.finish(session, job.lease, stored=stored, row_count=row_count)
    except LeaseLost:
        job.runtime.storage.delete(task.object_id)
        raise


def _fail(session: Session, lease: Lease[ExportJob], error: Exception) -> None:
    code, message = "INTERNAL", "The export failed because of an internal error."
    if isinstance(error, Interrupted):
        code, message = "INTERRUPTED", "The export was interrupted too often: request it again."
    if isinstance(error, TooManyRows):
        code, message = "TOO_MANY_ROWS", TOO_MANY_ROWS
    service.fail(session, lease, code=code, message=message)


def _store_file(job: RunningJob[ExportJob], task: ExportTask) -> tuple[StoredObject, int]:
    """Write the rows to a spool file and store it; return the stored object and the row count."""

    def on_progress(percent: int) -> None:
        job.require_going_on()
        job.report_progress(percent)

    path = _spool(job.runtime) / task.object_id
    snapshot = path.with_name(path.name + ".copy")
    try:
        with limited_to(task.teams):
            batches = catalogue.batches(job.runtime, task.request, snapshot, job.should_stop)
            row_count = _write_batches(job.runtime, task.request, path, batches, on_progress)
        with path.open("rb") as file:
            stored = job.runtime.storage.write(task.object_id, file, size_bytes=path.stat().st_size)
    finally:
        path.unlink(missing_ok=True)
        snapshot.unlink(missing_ok=True)
    return stored, row_count


def _write_batches(
    runtime: Runtime,
    request: ExportRequest,
    path: Path,
    batches: Generator[tuple[Sequence[Values], float], None, None],
    on_progress: Callable[[int], None],
) -> int:
    columns = catalogue.columns_of(request)
    writer = open_writer(request.format, path, columns, delimiter=request.delimiter)
    row_count = 0
    with closing(writer), closing(batches):
        for values, progress in batches:
            require_space(path.parent, 0, runtime.settings.min_free_bytes)
            writer.write(values)
            row_count += len(values[0])
            on_progress(int(progress * 99))
    return row_count


def _spool(runtime: Runtime) -> Path:
    spool = runtime.settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool
