"""Recordings of the demo, stored as an upload would be."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.audio_files.schemas import UploadCreate
from app.audio_files.uploads import lifecycle
from app.audio_files.uploads.audio_objects import AudioObjects
from app.audio_files.uploads.limits import upload_limits
from app.audio_files.uploads.links import RecordingLinks
from app.core.errors import Conflict
from app.core.runtime import Runtime
from app.core.storage.objects import ObjectExists
from app.demo import sample_data, service


def store(runtime: Runtime, record: Mapping[str, Any]) -> bool:
    """Store a recording and queue its processing; return whether it was not there before.

    A recording that an earlier call stored in part is completed.
    """
    data = (sample_data.folder() / record["fileName"]).read_bytes()
    audio_file_id = _pending_id(runtime, record, len(data))
    if audio_file_id is None:
        return False
    try:
        with (sample_data.folder() / record["fileName"]).open("rb") as source:
            stored = runtime.storage.write(audio_file_id, source, size_bytes=len(data))
    except ObjectExists:
        AudioObjects(runtime).reconcile(audio_file_id)
    else:
        with runtime.db.writing() as session:
            redact = runtime.settings.redaction
            lifecycle.mark_uploaded(session, audio_file_id, stored, redact=redact)
            service.date_back(session)
    return True


def _pending_id(runtime: Runtime, record: Mapping[str, Any], size_bytes: int) -> str | None:
    """Return the id of the row that waits for its bytes, made if needed; None if they are there."""
    fields = UploadCreate().load({**record, "sizeBytes": size_bytes})
    links = RecordingLinks.of(runtime, "")
    known = select(AudioFile.id, AudioFile.status).where(
        AudioFile.external_id == record["externalId"]
    )
    with runtime.db.writing() as session:
        row = session.execute(known).first()
        if row is not None and row.status != AudioStatus.EXPIRED:
            return str(row.id) if row.status == AudioStatus.PENDING_UPLOAD else None
        try:
            reserved = lifecycle.reserve(
                session, links=links, limits=upload_limits(runtime), **fields
            )
        except Conflict:
            return None
        return str(reserved["audio_file_id"])
