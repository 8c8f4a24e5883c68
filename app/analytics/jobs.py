"""Jobs over exports: made by a worker, found by the sweep, deleted when their time is over."""

from collections.abc import Sequence

from app.analytics import exporter, exporting
from app.analytics.models import ExportJob
from app.core import leases
from app.core.clock import utc_now
from app.core.runtime import Runtime, runtime


def run_export(job_id: str) -> None:
    """Work on this export and on whatever else is due."""
    exporter.work(runtime(), job_id)


def due_ids(parts: Runtime) -> Sequence[str]:
    """List the exports that wait for a worker, or were left by one (for the sweep)."""
    with parts.db.reading() as session:
        return leases.due_ids(session, ExportJob)


def purge_exports(parts: Runtime) -> int:
    """Delete the files whose time is over, and what killed workers left; return how many files."""
    with parts.db.writing() as session:
        objects = exporting.give_up_files(session, utc_now())
    for object_id in objects:
        parts.storage.delete(object_id)
    exporter.clear_spool(parts)
    return len(objects)
