"""Records of exports as the API shows them, with signed links to their files."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.analytics.formats.writers import CONTENT_TYPES
from app.analytics.models import ExportJob
from app.analytics.wishes import Format
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs.leases import JobState
from app.core.secrets.signed_urls import Grant, UrlSigner


@dataclass(frozen=True, slots=True)
class Links:
    """Makes links below one address; those to files are signed and end after `ttl_s` seconds."""

    signer: UrlSigner
    base: str
    ttl_s: int

    def status(self, job_id: str) -> str:
        """Return the link to the state of an export."""
        return f"{self.base}/api/v1/analytics/export/{job_id}"

    def download(self, job: ExportJob, now: datetime) -> tuple[str, datetime]:
        """Return the link to the file, and when it ends: with the file at the latest."""
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


def found(session: Session, job_id: str, *, for_update: bool = False) -> ExportJob:
    """Return an export; `NotFound` where there is none."""
    job = session.get(ExportJob, job_id, with_for_update=for_update)
    if job is None:
        raise NotFound("There is no such export.")
    return job


def show(session: Session, job_id: str, links: Links) -> dict[str, Any]:
    """Show an export, with a fresh link when its file is ready; `NotFound` where there is none."""
    job = found(session, job_id)
    now = utc_now()
    status = status_of(job, now)
    url, url_ends = links.download(job, now) if status == "ready" else (None, None)
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
        "download_expires_at": url_ends,
        "created_by": job.created_by,
        "created_at": job.queued_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "expires_at": job.expires_at if job.state == JobState.SUCCEEDED else None,
        "error": job.error,
    }


def status_of(job: ExportJob, now: datetime) -> str:
    """Return the word of the API for the state of an export."""
    if job.state == JobState.SUCCEEDED:
        is_over = job.expires_at is not None and job.expires_at <= now
        return "expired" if is_over else "ready"
    return str(job.state)
