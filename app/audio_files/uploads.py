"""Uploads: a row and a link first, then the bytes; what never comes expires."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.audio_files import processing
from app.audio_files.links import Links
from app.audio_files.models import AudioFile, AudioStatus
from app.audio_files.upload_limits import UploadLimits, stored_bytes
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.core.clock import utc_now
from app.core.errors import AppError, Conflict, NotFound
from app.core.ids import new_id
from app.core.storage import StoredObject
from app.evaluations import references
from app.usage import service as usage

logger = logging.getLogger(__name__)

_AWAITED = (AudioStatus.PENDING_UPLOAD, AudioStatus.EXPIRED)


def reserve(
    session: Session, *, links: Links, limits: UploadLimits, **fields: Any
) -> dict[str, Any]:
    """Make a row that waits for its bytes, and the link that takes them.

    Args:
        fields: the columns that the caller gives.

    Raises:
        InvalidInput: too large, or it refers to something that is not there.
        Conflict: there is a recording with this external id, or the plan's storage is used up.
        DiskFull: too little disk space is free.
    """
    limits.check(session, fields["size_bytes"])
    references.require(session, fields)
    now, expires_at = utc_now(), links.expiry()
    external_id = fields.get("external_id")
    audio = AudioFile(
        **fields,
        id=new_id("aud"),
        status=AudioStatus.PENDING_UPLOAD,
        created_at=now,
        updated_at=now,
        expires_at=expires_at,
        search_text=f"{fields['file_name']}\n{external_id or ''}".casefold(),
    )
    _add(session, audio)
    return {
        "audio_file_id": audio.id,
        "upload_url": links.upload(audio, expires_at),
        "method": "PUT",
        "headers": {"Content-Type": audio.content_type},
        "expires_at": expires_at,
        "max_size_bytes": audio.size_bytes,
        "status": audio.status,
    }


def mark_uploaded(
    session: Session, audio_file_id: str, stored: StoredObject, *, redact: bool
) -> None:
    """Note that the bytes are there, and queue the work where that was asked for.

    Doing it twice changes nothing. An upload that began in time and ended after the row had
    expired counts.

    Args:
        redact: whether the transcript is masked.

    Raises:
        NotFound: the row has gone.
    """
    audio = session.get(AudioFile, audio_file_id, with_for_update=True)
    if audio is None or audio.erased_at is not None:
        raise NotFound("There is no such audio file.")
    if audio.status not in _AWAITED:
        return
    now = utc_now()
    audio.status = AudioStatus.UPLOADED
    audio.size_bytes, audio.sha256 = stored.size_bytes, stored.sha256
    audio.uploaded_at = audio.updated_at = now
    audio.expires_at = None
    session.flush()
    if audio.campaign_id is not None:
        campaigns.count(session, audio.campaign_id, CampaignCount.AUDIO_FILES)
    usage.note_storage(session, size_bytes=stored_bytes(session), now=now)
    if audio.auto_process:
        _process(session, audio_file_id, redact=redact)


def exists(session: Session, audio_file_id: str) -> bool:
    """Whether the row is there, and its bytes were not given up."""
    audio = session.get(AudioFile, audio_file_id)
    return audio is not None and audio.erased_at is None and not audio.purge_bytes


def awaits_bytes(session: Session, audio_file_id: str) -> bool:
    """Whether the row is there and no upload of it was noted."""
    audio = session.get(AudioFile, audio_file_id)
    return audio is not None and audio.status in _AWAITED


def awaited(session: Session, *, limit: int = 1000) -> Sequence[str]:
    """List the recordings whose upload was not noted, the oldest promise first."""
    return session.scalars(
        select(AudioFile.id)
        .where(AudioFile.status == AudioStatus.PENDING_UPLOAD)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(limit)
    ).all()


def awaited_among(session: Session, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """List those of these recordings whose upload would still count, though its time may be over."""
    return session.scalars(
        select(AudioFile.id).where(
            AudioFile.id.in_(audio_file_ids),
            AudioFile.status.in_(_AWAITED),
            AudioFile.erased_at.is_(None),
        )
    ).all()


def given_up_among(session: Session, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """List those of these recordings that are to have no bytes any more."""
    return session.scalars(
        select(AudioFile.id).where(
            AudioFile.id.in_(audio_file_ids),
            AudioFile.uploaded_at.is_(None),
            or_(AudioFile.erased_at.is_not(None), AudioFile.status.not_in(_AWAITED)),
        )
    ).all()


def expire(session: Session, now: datetime, *, limit: int = 1000) -> int:
    """Give up on uploads whose links have ended; return how many those were.

    An upload that is still running is noted when it ends (see `mark_uploaded`).
    """
    late = session.scalars(
        select(AudioFile)
        .where(AudioFile.status == AudioStatus.PENDING_UPLOAD, AudioFile.expires_at <= now)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for audio in late:
        audio.status = AudioStatus.EXPIRED
        audio.updated_at = now
    session.flush()
    return len(late)


def purge_expired(session: Session, *, before: datetime, limit: int = 500) -> int:
    """Delete the rows of uploads that were given up before a moment; return how many.

    Only a file that was never uploaded is deleted, and only if nothing refers to it.
    """
    old = session.scalars(
        select(AudioFile.id)
        .where(AudioFile.status == AudioStatus.EXPIRED, AudioFile.updated_at < before)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(limit)
    ).all()
    return sum(_delete_unreferenced(session, each) for each in old)


def _delete_unreferenced(session: Session, audio_file_id: str) -> bool:
    try:
        with session.begin_nested():
            session.execute(delete(AudioFile).where(AudioFile.id == audio_file_id))
    except IntegrityError:  # a voice call names it as its recording
        return False
    return True


def _process(session: Session, audio_file_id: str, *, redact: bool) -> None:
    """Queue the work; bytes that have arrived are not thrown away when it cannot be queued."""
    try:
        with session.begin_nested():
            processing.request(session, audio_file_id, redact_by_default=redact)
    except AppError as error:
        logger.warning("%s was uploaded and not queued: %s", audio_file_id, error)


def _add(session: Session, audio: AudioFile) -> None:
    """Insert the row; an expired upload leaves its external id to the next one."""
    session.execute(
        update(AudioFile)
        .where(AudioFile.external_id == audio.external_id, AudioFile.status == AudioStatus.EXPIRED)
        .values(external_id=None)
    )
    try:
        with session.begin_nested():
            session.add(audio)
    except IntegrityError as error:
        if audio.external_id is None:
            raise
        raise Conflict("There is an audio file with this externalId.") from error
