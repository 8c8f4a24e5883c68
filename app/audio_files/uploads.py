"""Uploads of recordings: reserved with a link, then stored, or expired and purged."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.audio_files import totals
from app.audio_files.enums import AudioStatus
from app.audio_files.links import RecordingLinks
from app.audio_files.models import AudioFile, WaveformJob
from app.audio_files.processing import requests
from app.audio_files.processing.requests import ProcessingRequest
from app.audio_files.processing.steps import UPLOAD_MISMATCH, Failure
from app.audio_files.stored_objects import join_id, recording_of
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.core.clock import utc_now
from app.core.database.filters import searchable
from app.core.errors import AppError, Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.storage.objects import ObjectExists, StoredObject
from app.evaluations import sources
from app.evaluations.enums import Channel
from app.events.catalogue import EventType
from app.events.data import ConversationFailed
from app.events.outbox import publish
from app.scorecards import service as scorecards
from app.usage.plan import UsageMetric, plan_of

logger = logging.getLogger(__name__)

# An upload that began in time may end after its recording has expired.
_AWAITED = (AudioStatus.PENDING_UPLOAD, AudioStatus.EXPIRED)
_EXPIRED_AT_ONCE = 1000
_HAS_NO_FILE = and_(
    AudioFile.uploaded_at.is_(None),
    or_(AudioFile.erased_at.is_not(None), AudioFile.status.not_in(_AWAITED)),
)
_HAS_NO_ORIGINAL = or_(_HAS_NO_FILE, AudioFile.original_deleted_at.is_not(None))
_RESERVED_BYTES = select(func.sum(AudioFile.size_bytes)).where(
    AudioFile.status == AudioStatus.PENDING_UPLOAD
)


def reserve(
    session: Session, runtime: Runtime, *, links: RecordingLinks, **fields: Any
) -> dict[str, Any]:
    """Create a recording and return the link for its upload; arguments as for `create`."""
    expires_at = links.expiry()
    audio = create(session, runtime, expires_at=expires_at, **fields)
    link = links.upload(audio, expires_at)
    return {
        "audio_file_id": audio.id,
        "upload_url": link.url,
        "method": "PUT",
        "headers": link.headers,
        "expires_at": expires_at,
        "max_size_bytes": audio.size_bytes,
        "status": audio.status,
    }


def create(session: Session, runtime: Runtime, *, expires_at: datetime, **fields: Any) -> AudioFile:
    """Create a recording with these columns, which waits for its file until `expires_at`.

    Raises:
        InvalidInput: the recording is too large, or a reference does not exist.
        Conflict: there is a recording with this external id, or the plan's storage is used up.
        DiskFull: too little disk space is free.
    """
    check_space(session, runtime, fields["size_bytes"])
    sources.resolve(session, fields)
    scorecard_id = fields.get("scorecard_id")
    scorecards.require_for(session, Channel.VOICE, scorecard_id, field="scorecardId")
    now = utc_now()
    audio = AudioFile(
        **fields,
        id=new_id("aud"),
        status=AudioStatus.PENDING_UPLOAD,
        created_at=now,
        updated_at=now,
        expires_at=expires_at,
        search_text=searchable(fields["file_name"], fields.get("external_id")),
    )
    _add(session, audio)
    totals.add_recordings(session, 1)
    return audio


def check_space(session: Session, runtime: Runtime, size_bytes: int) -> None:
    """Refuse an upload that does not fit with the stored and reserved recordings.

    Raises:
        InvalidInput: the recording is too large.
        Conflict: the plan's storage is used up.
        DiskFull: too little disk space is free.
    """
    settings = runtime.settings
    if size_bytes > settings.upload_max_bytes:
        message = f"sizeBytes must be at most {settings.upload_max_bytes}."
        raise InvalidInput.field("sizeBytes", message, code="RANGE")
    needed_bytes = size_bytes + (session.scalar(_RESERVED_BYTES) or 0)
    plan_bytes = plan_of(settings).included[UsageMetric.STORAGE_GB]
    is_limited = settings.plan_storage_enforced and plan_bytes is not None
    if is_limited and totals.stored_bytes(session) + needed_bytes > plan_bytes:
        raise Conflict("The plan's storage is used up: delete recordings, or enlarge the plan.")
    runtime.storage.require_space(needed_bytes)


def of_external_id(session: Session, external_id: str) -> AudioFile | None:
    """Return the recording of an external id, locked; an expired one does not count."""
    return session.scalar(
        select(AudioFile)
        .where(AudioFile.external_id == external_id, AudioFile.status != AudioStatus.EXPIRED)
        .with_for_update()
    )


def mark_uploaded(
    session: Session, audio_file_id: str, stored: StoredObject, *, redact: bool
) -> None:
    """Record a finished upload, and queue its processing if `autoProcess` was set.

    A second call changes nothing. An upload that started in time counts, even if it ends after the
    reservation has expired.

    Args:
        redact: whether the transcript is masked.

    Raises:
        NotFound: the recording was deleted.
    """
    audio = session.get(AudioFile, audio_file_id, with_for_update=True)
    if audio is None or audio.erased_at is not None:
        raise NotFound("There is no such audio file.")
    if audio.status not in _AWAITED:
        return
    now = utc_now()
    audio.status = AudioStatus.UPLOADED
    audio.size_bytes, audio.sha256 = stored.size_bytes, stored.sha256 or audio.sha256
    audio.uploaded_at = audio.updated_at = now
    audio.expires_at = None
    session.flush()
    if audio.campaign_id is not None:
        campaigns.count(session, audio.campaign_id, CampaignCount.AUDIO_FILES)
    if audio.auto_process:
        _process(session, audio, redact=redact)
    totals.add_stored_bytes(session, stored.size_bytes)


def fail(session: Session, audio: AudioFile, failure: Failure) -> None:
    """End a recording, if it still waits for its file, with the reason why that cannot be used."""
    if audio.status not in _AWAITED:
        return
    audio.status, audio.error = AudioStatus.FAILED, failure.error
    audio.updated_at, audio.expires_at = utc_now(), None
    publish(
        session,
        EventType.CONVERSATION_FAILED,
        ConversationFailed(
            source_type="audio_file",
            source_id=audio.id,
            evaluation_id=None,
            engagement_id=audio.engagement_id or "",
            campaign=campaigns.name_of(session, audio.campaign_id) or "",
            code=failure.code,
            message=failure.message,
        ),
    )


def awaited(session: Session) -> Sequence[str]:
    """Return the ids of reserved recordings, oldest first."""
    return session.scalars(
        select(AudioFile.id)
        .where(AudioFile.status == AudioStatus.PENDING_UPLOAD)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(1000)
    ).all()


def awaited_among(session: Session, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of these recordings whose upload would still count, even if expired."""
    return session.scalars(
        select(AudioFile.id).where(
            AudioFile.id.in_(audio_file_ids),
            AudioFile.status.in_(_AWAITED),
            AudioFile.erased_at.is_(None),
        )
    ).all()


def orphaned_among(
    session: Session, audio_file_ids: Sequence[str], *, originals: bool = True
) -> Sequence[str]:
    """Return the ids of these recordings that should have no stored file, or no copy of one."""
    has_none = _HAS_NO_ORIGINAL if originals else _HAS_NO_FILE
    return session.scalars(
        select(AudioFile.id).where(AudioFile.id.in_(audio_file_ids), has_none)
    ).all()


def without_file(session: Session, *, since: datetime) -> Sequence[str]:
    """Return the ids of recordings created since then that should have no stored file."""
    return session.scalars(
        select(AudioFile.id).where(AudioFile.created_at > since, _HAS_NO_FILE)
    ).all()


def expire(session: Session, now: datetime) -> int:
    """Expire reservations whose links have expired; return their number.

    An upload that is still running is recorded when it ends (see `mark_uploaded`).
    """
    late = session.scalars(
        select(AudioFile)
        .where(AudioFile.status == AudioStatus.PENDING_UPLOAD, AudioFile.expires_at <= now)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(_EXPIRED_AT_ONCE)
        .with_for_update(skip_locked=True)
    ).all()
    for audio in late:
        audio.status = AudioStatus.EXPIRED
        audio.updated_at = now
    session.flush()
    # Pairs whose sides have not both come: what has come is an orphan then.
    of_late = [join_id(audio.id) for audio in late]
    session.execute(delete(WaveformJob).where(WaveformJob.id.in_(of_late)))
    return len(late)


def purge_expired(session: Session, *, before: datetime) -> int:
    """Delete recordings that expired before a moment; return their number.

    A recording that a voice call refers to is kept.
    """
    expired_ids = session.scalars(
        select(AudioFile.id)
        .where(AudioFile.status == AudioStatus.EXPIRED, AudioFile.updated_at < before)
        .order_by(AudioFile.created_at, AudioFile.id)
        .limit(500)
    ).all()
    count = sum(_delete_unreferenced(session, audio_file_id) for audio_file_id in expired_ids)
    totals.add_recordings(session, -count)
    return count


def _delete_unreferenced(session: Session, audio_file_id: str) -> bool:
    try:
        with session.begin_nested():
            session.execute(delete(AudioFile).where(AudioFile.id == audio_file_id))
    except IntegrityError:
        return False
    return True


def _process(session: Session, audio: AudioFile, *, redact: bool) -> None:
    """Queue the processing; if it cannot be queued, the upload is kept."""
    options = ProcessingRequest(scorecard_id=audio.scorecard_id)
    try:
        with session.begin_nested():
            requests.request_processing(session, audio.id, options, redact_by_default=redact)
    except AppError as error:
        logger.warning("%s was uploaded, but its processing was not queued: %s", audio.id, error)


def _add(session: Session, audio: AudioFile) -> None:
    """Insert the row; an expired reservation gives its external id up."""
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
        raise Conflict(
            "A recording with this externalId exists already: choose another."
        ) from error


class AudioObjects:
    """Handles stored objects whose ids begin with `aud_`; opens its own transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str, _: str = "", /) -> bool:
        with self._runtime.db.reading() as session:
            audio = session.get(AudioFile, object_id)
            return audio is not None and audio.erased_at is None and not audio.purge_bytes

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Record a finished upload; raises `NotFound` if the recording was deleted."""
        with self._runtime.db.writing() as session:
            mark_uploaded(session, object_id, stored, redact=self._runtime.settings.redaction)

    def store(self, object_id: str, source: IO[bytes], *, size_bytes: int, sha256: str) -> None:
        """Store the file of a recording that waits for it; one that a crash left is recorded."""
        try:
            stored = self._runtime.storage.write(
                object_id, source, size_bytes=size_bytes, sha256=sha256
            )
        except ObjectExists:
            self.reconcile(object_id)
        else:
            self.mark_stored(object_id, stored)

    def reconcile(self, object_id: str) -> None:
        """Record an upload that went straight to the storage, or that a crash interrupted.

        One of another size than announced is deleted, and fails its recording.
        """
        with self._runtime.db.reading() as session:
            audio = session.get(AudioFile, object_id)
            if audio is None or audio.status not in _AWAITED or audio.erased_at is not None:
                return
            announced_bytes = audio.size_bytes
        stored = self._runtime.storage.find(object_id)
        if stored is not None and stored.size_bytes != announced_bytes:
            self._runtime.storage.delete(object_id)
            with self._runtime.db.writing() as session:
                audio = session.get(AudioFile, object_id, with_for_update=True)
                if audio is not None:
                    fail(session, audio, UPLOAD_MISMATCH)
        elif stored is not None:
            self.mark_stored(object_id, stored)


class MutedObjects(AudioObjects):
    """Handles muted copies, which are only downloaded, by the recordings that they belong to."""

    def exists(self, object_id: str, version: str = "", /) -> bool:
        """Return whether the copy may be downloaded: an earlier one has words that are masked now."""
        with self._runtime.db.reading() as session:
            job = session.get(WaveformJob, object_id)
            is_current = job is not None and (job.made_of or "").startswith(version)
        return is_current and super().exists(recording_of(object_id))

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Refuse an upload: no link allows one."""
        raise NotFound("There is no such upload.")

    def reconcile(self, object_id: str) -> None:
        """Do nothing: copies are not uploaded."""
