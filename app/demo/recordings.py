"""The recordings of the demo on their way in, as an upload comes in."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.audio_files import uploads
from app.audio_files.hooks import Recordings
from app.audio_files.links import Links
from app.audio_files.models import AudioFile, AudioStatus
from app.audio_files.schemas import UploadCreate
from app.audio_files.upload_limits import upload_limits
from app.core.errors import Conflict
from app.core.runtime import Runtime
from app.core.storage import ObjectExists
from app.demo import texts


def take_in(runtime: Runtime, record: Mapping[str, Any]) -> bool:
    """Store a recording and queue the work on it; tell whether there was anything to do.

    One whose bytes are there stays as it is; one that a crash cut off is completed.
    """
    data = (texts.folder() / record["fileName"]).read_bytes()
    audio_file_id = _awaiting(runtime, record, len(data))
    if audio_file_id is None:
        return False
    owner = Recordings(runtime)
    try:
        with (texts.folder() / record["fileName"]).open("rb") as source:
            stored = runtime.storage.write(audio_file_id, source, size_bytes=len(data))
    except ObjectExists:
        owner.heal(audio_file_id)
    else:
        owner.stored(audio_file_id, stored)
    return True


def _awaiting(runtime: Runtime, record: Mapping[str, Any], size_bytes: int) -> str | None:
    """Return the row that waits for the bytes, made where there is none; None where they came."""
    fields = UploadCreate().load({**record, "sizeBytes": size_bytes})
    links = Links(runtime.urls, "", runtime.settings.url_ttl_s)
    known = select(AudioFile.id, AudioFile.status).where(
        AudioFile.external_id == record["externalId"]
    )
    with runtime.db.writing() as session:
        row = session.execute(known).first()
        if row is not None and row.status != AudioStatus.EXPIRED:
            return str(row.id) if row.status == AudioStatus.PENDING_UPLOAD else None
        try:
            reserved = uploads.reserve(
                session, links=links, limits=upload_limits(runtime), **fields
            )
        except Conflict:
            return None
        return str(reserved["audio_file_id"])
