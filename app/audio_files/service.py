"""What is done with recordings that are there: found, listed, handed out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, ScalarSelect, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.audio_files.links import Links
from app.audio_files.models import AudioFile
from app.core.database.paging import Page, PageRequest, select_page
from app.core.errors import Conflict, NotFound
from app.evaluations.enums import SourceType
from app.evaluations.models import Evaluation

_HIDDEN = ("auto_process", "search_text", "erased_at", "purge_bytes")
_SORTABLE = {
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


# A re-evaluation or a review changes these without this room: they are read where they are kept.
_COLUMNS = select(
    *(
        getattr(AudioFile, column.key)
        for column in AudioFile.__table__.columns
        if column.key not in _HIDDEN
    ),
    _current(Evaluation.id).label("evaluation_id"),
    _current(Evaluation.score).label("score"),
)


def _equal(column: InstrumentedAttribute[Any]) -> Callable[[Any], ColumnElement[bool]]:
    return lambda value: column == value


def _language(code: str) -> ColumnElement[bool]:
    """`en` finds `en` and every `en-…`, announced or heard."""
    columns = (AudioFile.language, AudioFile.detected_language)
    return or_(
        *(
            found
            for column in columns
            for found in (column == code, column.startswith(f"{code}-", autoescape=True))
        )
    )


_FILTERS: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "status": AudioFile.status.in_,
    "engagement_id": _equal(AudioFile.engagement_id),
    "campaign_id": _equal(AudioFile.campaign_id),
    "call_center_id": _equal(AudioFile.call_center_id),
    "executive_id": _equal(AudioFile.executive_id),
    "language": _language,
    "min_duration": lambda seconds: AudioFile.duration_seconds >= seconds,
    "max_duration": lambda seconds: AudioFile.duration_seconds <= seconds,
    "has_transcript": lambda value: AudioFile.has_transcript.is_(value),
    "q": lambda words: AudioFile.search_text.contains(words.casefold(), autoescape=True),
    "start": lambda moment: AudioFile.created_at >= moment,
    "end": lambda moment: AudioFile.created_at < moment,
}


def list_page(
    session: Session, request: PageRequest, **filters: str | int | bool | Sequence[str]
) -> Page[Any]:
    """List recordings as mappings, newest first unless asked otherwise.

    Args:
        filters: the names of contract B7 in snake_case; `start` and `end` bound `created_at`.
    """
    wanted = _COLUMNS.where(*(_FILTERS[name](value) for name, value in filters.items()))
    return select_page(session, wanted, request, sortable=_SORTABLE, tail=AudioFile.id)


def show(session: Session, audio_file_id: str) -> RowMapping:
    """Show a recording; `NotFound` where there is none."""
    row = session.execute(_COLUMNS.where(AudioFile.id == audio_file_id)).mappings().first()
    if row is None:
        raise NotFound("There is no such audio file.")
    return row


def find(session: Session, audio_file_id: str) -> AudioFile:
    """Return the row of a recording; `NotFound` where there is none."""
    audio = session.get(AudioFile, audio_file_id)
    if audio is None:
        raise NotFound("There is no such audio file.")
    return audio


def download_link(session: Session, audio_file_id: str, *, links: Links) -> dict[str, Any]:
    """Return a link to the bytes.

    Raises:
        NotFound: there is no such recording, or it was erased.
        Conflict: its bytes have not come.
    """
    audio = find(session, audio_file_id)
    if audio.erased_at is not None or audio.purge_bytes:
        raise NotFound("The bytes of this audio file were erased.")
    if audio.uploaded_at is None:
        raise Conflict(f"There is nothing to download: the upload is {audio.status}.")
    expires_at = links.expiry()
    return {
        "audio_file_id": audio.id,
        "download_url": links.download(audio, expires_at),
        "expires_at": expires_at,
        "content_type": audio.content_type,
        "size_bytes": audio.size_bytes,
        "file_name": audio.file_name,
    }
