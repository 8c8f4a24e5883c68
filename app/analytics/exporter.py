"""Export files: rows are read in short transactions and written outside of them."""

from contextlib import closing
from pathlib import Path

from sqlalchemy.orm import Session

from app.analytics import exporting
from app.analytics.datasets import catalogue
from app.analytics.exporting import Task
from app.analytics.formats.writers import TooManyRows, open_writer
from app.analytics.models import ExportJob
from app.analytics.wishes import Wish
from app.core.jobs.leases import Lease, LeaseLost
from app.core.jobs.runner import Interrupted, JobType, RunningJob, run_next
from app.core.process import stopping
from app.core.runtime import Runtime
from app.core.storage import StoredObject, require_space


def run_exports(runtime: Runtime, job_id: str = "") -> None:
    """Write this export, or one that is due, and continue until none is left."""
    job_type = JobType(
        claim=exporting.claim,
        handle=_write_export,
        fail=_fail,
        is_final=lambda error: isinstance(error, TooManyRows),
    )
    while not stopping.requested() and run_next(runtime, job_type, job_id):
        pass


def clear_spool(runtime: Runtime) -> None:
    """Delete what the work on exports has left behind when it was killed."""
    files = [*_spool(runtime).glob("exp_*")]
    with runtime.db.reading() as session:
        kept = exporting.at_work(session)
    for file in files:
        if file.name.partition(".")[0] not in kept:
            file.unlink(missing_ok=True)


def _write_export(job: RunningJob[ExportJob]) -> None:
    """Write one export into a file of the storage and offer it."""
    with job.transaction() as session:
        task = exporting.begin(session, job.lease)
    if task.left is not None:
        job.runtime.storage.delete(task.left)
        clear_spool(job.runtime)
    stored, row_count = _stored(job, task)
    try:
        with job.transaction() as session:
            exporting.finish(session, job.lease, stored=stored, row_count=row_count)
    except LeaseLost:
        job.runtime.storage.delete(task.object_id)
        raise


def _fail(session: Session, lease: Lease[ExportJob], error: Exception) -> None:
    code, message = "INTERNAL", "The export failed because of an internal error."
    if isinstance(error, Interrupted):
        code, message = "INTERRUPTED", "The export was interrupted too often; request it again."
    if isinstance(error, TooManyRows):
        code = "TOO_MANY_ROWS"
        message = "A sheet cannot hold so many rows: use csv, jsonl or parquet."
    exporting.fail(session, lease, code=code, message=message)


def _stored(job: RunningJob[ExportJob], task: Task) -> tuple[StoredObject, int]:
    """Write the rows into a file and store it; return the stored object and the row count."""
    path = _spool(job.runtime) / task.object_id
    copy = path.with_name(path.name + ".copy")
    try:
        row_count = _write_rows(job, task.wish, path, copy)
        with path.open("rb") as file:
            stored = job.runtime.storage.write(task.object_id, file, size_bytes=path.stat().st_size)
    finally:
        path.unlink(missing_ok=True)
        copy.unlink(missing_ok=True)
    return stored, row_count


def _write_rows(job: RunningJob[ExportJob], wish: Wish, path: Path, copy: Path) -> int:
    columns = catalogue.columns_of(wish)
    writer = open_writer(wish.format, path, columns, delimiter=wish.delimiter)
    row_count = 0
    with (
        closing(writer),
        closing(catalogue.batches(job.runtime, wish, copy, job.should_stop)) as batches,
    ):
        for batch in batches:
            job.require_going_on()
            require_space(path.parent, 0, job.runtime.settings.min_free_bytes)
            writer.write(batch.columns)
            row_count += batch.row_count
            job.report_progress(int(batch.done * 99))
    return row_count


def _spool(runtime: Runtime) -> Path:
    spool = runtime.settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return spool
