"""Files of imports: uploaded by signed URLs, read by the worker, deleted after the import."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.errors import InvalidInput
from app.core.ids import new_id
from app.core.jobs.leases import OPEN_STATES, JobState
from app.core.runtime import Runtime
from app.core.secrets.signed_urls import Grant
from app.core.storage.objects import StoredObject
from app.imports import service
from app.imports.loading.input import ImportOptions
from app.imports.models import Import

_AWAITED = "awaiting_upload"
_CONTENT_TYPE = "application/octet-stream"


def reserve(
    session: Session,
    runtime: Runtime,
    *,
    base: str,
    holder: str,
    format: str,
    file_name: str,
    size_bytes: int,
    sha256: str | None,
    options: ImportOptions,
) -> dict[str, Any]:
    """Create an import that waits for its file, and return the link for its upload.

    Raises:
        InvalidInput: the file is too large, or a default or the scorecard does not exist.
        DiskFull: too little disk space is free.
    """
    limit = runtime.settings.upload_max_bytes
    if size_bytes > limit:
        raise InvalidInput.field("sizeBytes", f"sizeBytes must be at most {limit}.", code="RANGE")
    runtime.storage.require_space(size_bytes)
    options = service.resolved(session, options)
    expires_at = (utc_now() + timedelta(seconds=runtime.settings.url_ttl_s)).replace(microsecond=0)
    import_id = new_id("imp")
    session.add(
        Import(
            id=import_id,
            state=_AWAITED,
            format=format,
            file_id=import_id,
            file_name=file_name,
            options=asdict(options),
            due_at=expires_at,
        )
    )
    grant = Grant(
        permission="c",
        object_id=import_id,
        expires_at=expires_at,
        content_type=_CONTENT_TYPE,
        size_bytes=size_bytes,
        sha256=sha256 or "",
    )
    return {
        "import_id": import_id,
        "upload_url": base + runtime.urls.for_holder(holder).path_for(grant),
        "method": "PUT",
        "headers": {"Content-Type": _CONTENT_TYPE},
        "expires_at": expires_at,
        "max_size_bytes": size_bytes,
    }


def needed_among(session: Session, file_ids: Sequence[str]) -> set[str]:
    """Return those of these files that an import still has to read."""
    return set(session.scalars(select(Import.file_id).where(Import.file_id.in_(file_ids))))


def expire(session: Session, *, before: datetime) -> None:
    """Delete the imports whose file did not arrive in time."""
    session.execute(delete(Import).where(Import.state == _AWAITED, Import.due_at < before))


class ImportFiles:
    """Stored files whose ids begin with `imp_`; opens its own transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str, _: str = "", /) -> bool:
        """Return whether an import waits for the file, or has not read it to its end."""
        with self._runtime.db.reading() as session:
            row = session.get(Import, object_id)
            return row is not None and row.state in (_AWAITED, *OPEN_STATES)

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Queue the import; raises `NotFound` if it was deleted."""
        self._queue(object_id)

    def reconcile(self, object_id: str) -> None:
        """Queue the import of a file that a crash left without it."""
        if self._runtime.storage.size_of(object_id) is not None:
            self._queue(object_id)

    def _queue(self, import_id: str) -> None:
        with self._runtime.db.writing() as session:
            row = find_row(session, Import, import_id, "import", for_update=True)
            if row.state == _AWAITED:
                row.state, row.due_at = JobState.QUEUED, utc_now()
                ring_after_commit(session, service.bell(row.id))
