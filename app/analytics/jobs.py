"""Jobs of analytics: exports, the purge of their files, and the writing of parts."""

from collections.abc import Sequence
from datetime import timedelta

from app.analytics import exporter, exporting
from app.analytics.engine import part_writer
from app.analytics.engine.database import fact_database, parts_folder
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.runtime import Runtime

# Fewer pending facts are read from their table with each question.
_MANY_PENDING = 500
_ROWS_KEPT = timedelta(days=90)


def run_export(runtime: Runtime, job_id: str) -> None:
    """Work on this export and on whatever else is due."""
    exporter.run_exports(runtime, job_id)


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the exports that wait for a worker, or were left by one (for the sweep)."""
    with runtime.db.reading() as session:
        return leases.due_ids(session, ExportJob)


def purge_exports(runtime: Runtime) -> int:
    """Delete the files whose time is over, and what killed workers left; return how many files."""
    with runtime.db.reading() as session:
        over = exporting.files_that_are_over(session, utc_now())
    for object_id in over.values():
        runtime.storage.delete(object_id)
    if over:
        with runtime.db.writing() as session:
            exporting.forget_files(session, over)
    exporter.clear_spool(runtime)
    return len(over)


def purge_export_rows(runtime: Runtime) -> None:
    """Delete the rows of exports that ended long ago."""
    with runtime.db.writing() as session:
        exporting.purge(session, before=utc_now() - _ROWS_KEPT)


def unkept(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Name those of these files that belong to no export any more."""
    with runtime.db.reading() as session:
        return exporting.unknown_among(session, object_ids)


def write_parts(runtime: Runtime, *, at_least: int = _MANY_PENDING) -> int:
    """Write pending facts into parts, where there are so many; return how many were written."""
    with runtime.db.reading() as session:
        count = part_writer.pending_count(session)
    if count < at_least:
        return 0
    return part_writer.write_pending(runtime.db, fact_database(runtime.settings))


def tidy_parts(runtime: Runtime) -> None:
    """Write the last pending facts into parts, replace lost files, and delete unused ones."""
    folder = parts_folder(runtime.settings)
    part_writer.discard_lost(runtime.db, folder)
    write_parts(runtime, at_least=1)
    part_writer.delete_unused(runtime.db, folder)
