"""Queries of recordings: one, a filtered page, or a download link."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, ScalarSelect, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.audio_files import totals
from app.audio_files.enums import ENDED
from app.audio_files.links import RecordingLinks, file_name_of
from app.audio_files.models import AudioFile
from app.audio_files.stored_objects import PlayedObject
from app.core.database.filters import (
    Filters,
    at_least,
    at_most,
    conditions,
    contains,
    language,
    of_contacts,
)
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import columns_without, find_mapping, find_row
from app.core.database.session import Reader
from app.core.errors import Conflict, NotFound
from app.evaluations.enums import SourceType
from app.evaluations.models import Evaluation

_HIDDEN = ("auto_process", "scorecard_id", "search_text", "erased_at", "purge_bytes")
_SORTABLE = {
    "conversation_at": AudioFile.conversation_at,
    "created_at": AudioFile.created_at,
    "recorded_at": AudioFile.recorded_at,
    "duration_seconds": AudioFile.duration_seconds,
    "size_bytes": AudioFile.size_bytes,
}


def _current(column: InstrumentedAttribute[Any]) -> ScalarSelect[Any]:
    return (
        select(column)
        .where(
            Evaluation.source_id == AudioFile.id,
            Evaluation.source_type == SourceType.AUDIO_FILE,
            Evaluation.is_current,
        )
        .scalar_subquery()
    )


# Re-evaluations and reviews change these, so they are read from the evaluation.
_COLUMNS = select(
    *columns_without(AudioFile, _HIDDEN),
    _current(Evaluation.id).label("evaluation_id"),
    _current(Evaluation.score).label("score"),
)


_FILTERS: Filters = {
    **of_contacts(AudioFile),
    "status": AudioFile.status.in_,
    "language": language(AudioFile.language, AudioFile.detected_language),
    "min_duration": at_least(AudioFile.duration_seconds),
    "max_duration": at_most(AudioFile.duration_seconds),
    "has_transcript": AudioFile.has_transcript.is_,
    "q": contains(AudioFile.search_text),
    "added_since": at_least(AudioFile.created_at),
}


def list_page(
    session: Session, request: PageRequest, **filters: str | int | bool | datetime | Sequence[str]
) -> Page[Any]:
    """Return a page of recordings, newest first by default."""
    statement = _COLUMNS.where(*conditions(_FILTERS, filters))
    total_count = None if filters else totals.recordings(session)
    return select_page(
        session, statement, request, sortable=_SORTABLE, tail=AudioFile.id, total_count=total_count
    )


def show(session: Reader, audio_file_id: str) -> RowMapping:
    """Return a recording for the API; raises `NotFound`."""
    return find_mapping(session, _COLUMNS.where(AudioFile.id == audio_file_id), "audio file")


def find(session: Session, audio_file_id: str) -> AudioFile:
    """Return the row of a recording; raises `NotFound`."""
    return find_row(session, AudioFile, audio_file_id, "audio file")


def find_stored(session: Session, audio_file_id: str) -> AudioFile:
    """Return the row of a recording whose file is kept.

    Raises:
        NotFound: there is no such recording, or its file was deleted.
        Conflict: it has not been uploaded.
    """
    audio = find(session, audio_file_id)
    if audio.erased_at is not None or audio.purge_bytes:
        raise NotFound("The file of this recording was deleted.")
    if audio.uploaded_at is None:
        raise Conflict(f"There is nothing to download: the upload is {audio.status}.")
    return audio


def find_original(session: Session, audio_file_id: str) -> AudioFile:
    """Return the row of a recording whose original is kept.

    Raises:
        NotFound: as `find_stored`, or the original was deleted.
        Conflict: as `find_stored`.
    """
    audio = find_stored(session, audio_file_id)
    if audio.original_deleted_at is not None:
        raise NotFound("The original of this recording was deleted: only its muted copy is kept.")
    return audio


def download_link(
    session: Session, audio_file_id: str, *, links: RecordingLinks, copy: PlayedObject | None = None
) -> dict[str, Any]:
    """Return a signed download link to the upload, or to a muted copy of it.

    Raises:
        NotFound, Conflict: as `find_original`, or with a copy as `find_stored`.
    """
    audio = (find_stored if copy else find_original)(session, audio_file_id)
    expires_at = links.expiry()
    return {
        "audio_file_id": audio.id,
        "download_url": links.download(audio, expires_at, copy),
        "expires_at": expires_at,
        "content_type": copy.content_type if copy else audio.content_type,
        "size_bytes": copy.size_bytes if copy else audio.size_bytes,
        "file_name": file_name_of(audio, copy),
        "muted": copy is not None,
    }


def results_among(session: Session, audio_file_ids: Sequence[str]) -> Sequence[RowMapping]:
    """Return name, error and score of those recordings whose processing has ended."""
    statement = _COLUMNS.where(AudioFile.id.in_(audio_file_ids), AudioFile.status.in_(ENDED))
    return session.execute(statement).mappings().all()
