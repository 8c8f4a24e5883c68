"""Jobs of analytics: running exports, purging their files, and writing parts."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from app.analytics.engine import part_files, part_writer, parts
from app.analytics.engine.database import fact_database, parts_folder
from app.analytics.exports import service, work
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.jobs.runner import list_due
from app.core.runtime import Runtime

# Up to this number, pending facts stay in their table, where each report reads them.
_PENDING_BEFORE_WRITE = 500
_ROWS_KEPT = timedelta(days=90)
due_ids = partial(list_due, ExportJob)


def run_export(runtime: Runtime, job_id: str) -> None:
    """Run this export and then every other one that is due."""
    work.run_exports(runtime, job_id)


def purge_exports(runtime: Runtime) -> int:
    """Delete expired files; return how many expired."""
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


def orphaned(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these objects that belong to no export."""
    with runtime.db.reading() as session:
        return service.orphaned(session, object_ids)


def write_parts(runtime: Runtime, *, at_least: int = _PENDING_BEFORE_WRITE) -> int:
    """Write pending facts into parts when there are `at_least` of them; return how many."""
    with runtime.db.reading() as session:
        count = part_writer.pending_count(session)
    if count < at_least:
        return 0
    return part_writer.write_pending(runtime.db, fact_database(runtime.settings))


def tidy_parts(runtime: Runtime) -> None:
    """Write the last pending facts into parts, replace lost files, and delete unused ones."""
    database = fact_database(runtime.settings)
    part_writer.discard_lost(runtime.db, database)
    write_parts(runtime, at_least=1)
    part_files.delete_unused(runtime.db, database.folder)


def orphaned_parts(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these objects that belong to no part."""
    with runtime.db.reading() as session:
        registered = parts.registered(session, parts_folder(runtime.settings))
    return part_files.orphaned(registered, object_ids)
