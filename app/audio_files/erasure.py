"""Erasure of recordings: rows are marked first and files deleted then, so that a crash is harmless."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.audio_files import totals
from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile, WaveformJob
from app.audio_files.processing import requests
from app.core.clock import utc_now
from app.core.database.filters import searchable
from app.core.errors import NotFound
from app.core.jobs.leases import JobState, end
from app.evaluations import service as evaluations

# Label that identifies the customer of a recording or a call.
CUSTOMER_LABEL = "customerRef"
_WAITED = (AudioStatus.PENDING_UPLOAD, AudioStatus.UPLOADED)
_ERROR = {"code": "ERASED", "message": "The recording was erased."}


def is_of(customer_ref: str) -> ColumnElement[bool]:
    is_theirs: ColumnElement[bool] = AudioFile.labels[CUSTOMER_LABEL].as_string() == customer_ref
    return is_theirs


def with_bytes_from_before(session: Session, moment: datetime, *, limit: int) -> Sequence[str]:
    """Return the ids of the oldest recordings created before a moment that have an unused file."""
    return session.scalars(
        select(AudioFile.id)
        .where(
            AudioFile.created_at < moment,
            AudioFile.uploaded_at.is_not(None),
            AudioFile.status.in_((AudioStatus.PROCESSED, AudioStatus.FAILED, AudioStatus.UPLOADED)),
        )
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(limit)
    ).all()


def erase(session: Session, audio_file_ids: Sequence[str]) -> int:
    """Mark recordings as erased and fail their jobs; return how many were not erased before.

    `purge_bytes` marks their files for deletion.
    """
    drop_bytes(session, audio_file_ids)
    count = 0
    for row in _locked(session, audio_file_ids):
        if row.erased_at is None:
            row.erased_at = utc_now()
            count += 1
        row.file_name, row.labels = "", {}
        row.search_text = searchable(row.external_id)
        if row.status in _WAITED:
            row.status = AudioStatus.EXPIRED
        _fail_open_job(session, row)
    return count


def drop_bytes(session: Session, audio_file_ids: Sequence[str]) -> None:
    """Mark files for deletion; from the commit on they are neither linked nor counted."""
    for row in _locked(session, audio_file_ids):
        if row.uploaded_at is not None:
            totals.add_stored_bytes(session, -row.size_bytes)
        row.purge_bytes = True
        row.uploaded_at = row.sha256 = None
        row.updated_at = utc_now()
    drawings = select(WaveformJob).where(
        WaveformJob.audio_file_id.in_(audio_file_ids), WaveformJob.completed_at.is_(None)
    )
    for drawing in session.scalars(drawings):
        end(drawing, JobState.FAILED, utc_now())
    session.flush()


def note_originals_deleted(session: Session, audio_file_ids: Sequence[str]) -> None:
    """Record that only the muted copies of these recordings are kept from now on."""
    for row in _locked(session, audio_file_ids):
        row.original_deleted_at = row.updated_at = utc_now()


def to_purge(session: Session) -> Sequence[str]:
    """Return the ids of recordings whose files are marked for deletion."""
    return session.scalars(select(AudioFile.id).where(AudioFile.purge_bytes).limit(100)).all()


def note_purged(session: Session, audio_file_ids: Sequence[str]) -> None:
    for row in _locked(session, audio_file_ids):
        row.purge_bytes = False


def _fail_open_job(session: Session, row: AudioFile) -> None:
    job = requests.open_job(session, row.id)
    if job is not None:
        job.error = row.error = _ERROR
        row.status = AudioStatus.FAILED
        end(job, JobState.FAILED, utc_now())
        with suppress(NotFound):
            evaluations.cancel(session, job.evaluation_id)


def _locked(session: Session, audio_file_ids: Sequence[str]) -> Sequence[AudioFile]:
    # In one order: otherwise two transactions could wait for each other.
    return session.scalars(
        select(AudioFile)
        .where(AudioFile.id.in_(audio_file_ids))
        .order_by(AudioFile.id)
        .with_for_update()
    ).all()
