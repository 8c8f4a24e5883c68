"""Jobs of analytics: exports, the purge of their files, and the writing of parts."""

from collections.abc import Sequence

from app.analytics import exporter, exporting
from app.analytics.engine import part_writer
from app.analytics.engine.database import fact_database, parts_folder
from app.analytics.models import ExportJob
from app.core import leases
from app.core.clock import utc_now
from app.core.runtime import Runtime, runtime

# Fewer pending facts are read from their table with each question.
_MANY_PENDING = 500


def run_export(job_id: str) -> None:
    """Work on this export and on whatever else is due."""
    exporter.work(runtime(), job_id)


def due_ids(parts: Runtime) -> Sequence[str]:
    """List the exports that wait for a worker, or were left by one (for the sweep)."""
    with parts.db.reading() as session:
        return leases.due_ids(session, ExportJob)


def purge_exports(parts: Runtime) -> int:
    """Delete the files whose time is over, and what killed workers left; return how many files."""
    with parts.db.reading() as session:
        over = exporting.files_that_are_over(session, utc_now())
    for object_id in over.values():
        parts.storage.delete(object_id)
    if over:
        with parts.db.writing() as session:
            exporting.forget_files(session, over)
    exporter.clear_spool(parts)
    return len(over)


def unkept(parts: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Name those of these files that belong to no export any more."""
    with parts.db.reading() as session:
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
