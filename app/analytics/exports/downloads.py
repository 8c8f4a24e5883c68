"""Exports as the API shows them, and the download of their files by signed URLs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.analytics.enums import ExportStatus, Format
from app.analytics.exports import service
from app.analytics.exports.writers import CONTENT_TYPES
from app.analytics.models import ExportJob
from app.core.clock import utc_now
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from app.core.secrets.signed_urls import Grant, UrlSigner
from app.core.storage.objects import StoredObject


@dataclass(frozen=True, slots=True)
class ExportLinks:
    """Builds links below one address; links to files are signed and valid for `ttl_s` seconds."""

    signer: UrlSigner
    base: str
    ttl_s: int

    def status(self, job_id: str) -> str:
        return f"{self.base}/api/v1/analytics/export/{job_id}"

    def download(self, job: ExportJob, now: datetime) -> tuple[str, datetime]:
        """Return the link to the file and its expiry, at the latest that of the file."""
        expires_at = (now + timedelta(seconds=self.ttl_s)).replace(microsecond=0)
        if job.expires_at is not None:
            expires_at = min(expires_at, job.expires_at)
        grant = Grant(
            permission="r",
            object_id=str(job.object_id),
            expires_at=expires_at,
            content_type=CONTENT_TYPES[Format(job.format)],
            size_bytes=job.file_size_bytes or 0,
            file_name=job.file_name,
        )
        return self.base + self.signer.path_for(grant), expires_at


def show(job: ExportJob, links: ExportLinks) -> dict[str, Any]:
    """Show an export, with a new download link when its file is ready."""
    now = utc_now()
    status = service.status_of(job, now)
    is_ready = status is ExportStatus.READY
    url, url_expires_at = links.download(job, now) if is_ready else (None, None)
    return {
        "job_id": job.id,
        "status": status,
        "dataset": job.dataset,
        "format": job.format,
        "progress": job.progress,
        "row_count": job.row_count,
        "file_size_bytes": job.file_size_bytes,
        "sha256": job.sha256,
        "download_url": url,
        "download_expires_at": url_expires_at,
        "created_by": job.created_by,
        "created_at": job.queued_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "expires_at": job.expires_at if job.state == JobState.SUCCEEDED else None,
        "error": job.error,
    }


class ExportFiles:
    """Serves the objects whose ids begin with `exp_`; they are never uploaded."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str, _: str = "", /) -> bool:
        with self._runtime.db.reading() as session:
            return service.is_downloadable(session, object_id)

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Do nothing: no link grants an upload."""

    def reconcile(self, object_id: str) -> None:
        """Do nothing: no link grants an upload."""
