"""Jobs over exports, found by the sweep and deleted in time, and over facts, summed in time."""

from collections.abc import Sequence
from datetime import timedelta

from app.analytics import exporter, exporting, folding
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.runtime import Runtime

# Other tasks of the same process wait so long.
_FOLDING_S = 0.5
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


def fold_facts(runtime: Runtime) -> int:
    """Sum the facts of spans of time that are over, for a moment; return how many spans."""
    return folding.fold(runtime.db, within_s=_FOLDING_S)
