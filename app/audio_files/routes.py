"""Endpoints of audio files."""

from typing import Any

from app.audio_files import processing, schemas, service, status, uploads
from app.audio_files.hooks import Recordings
from app.audio_files.links import Links
from app.audio_files.upload_limits import upload_limits
from app.evaluations.enums import SourceType
from app.evaluations.schemas.transcripts import TranscriptQuery, TranscriptSchema
from app.evaluations.transcripts import shown as shown_transcripts
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.web.public_address import public_address
from app.web.raw_access import check_raw

blp = Blueprint(
    "audio-files",
    __name__,
    url_prefix="/audio-files",
    description="Recordings: uploaded, transcribed and judged",
)


@blp.get("")
@require_scope("audio:read")
@blp.arguments(schemas.AudioFileQuery, location="query")
@blp.response(200, schemas.AudioFileSchema(many=True))
def list_audio_files(query: dict[str, Any]) -> Any:
    """List the audio files."""
    page_request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, page_request, **query)


@blp.post("/upload-url")
@require_scope("audio:write")
@blp.arguments(schemas.UploadCreate)
@blp.response(201, schemas.UploadSchema)
def create_upload_url(body: dict[str, Any]) -> Any:
    """Announce a recording and get the link that takes its bytes, once."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        return uploads.reserve(session, links=_links(), limits=upload_limits(runtime), **body)


@blp.get("/<id:audio_file_id>")
@require_scope("audio:read")
@blp.response(200, schemas.AudioFileSchema)
def get_audio_file(audio_file_id: str) -> Any:
    """Show one audio file."""
    _heal(audio_file_id)
    with current_runtime().db.reading() as session:
        return service.show(session, audio_file_id)


@blp.get("/<id:audio_file_id>/transcript")
@require_scope("audio:read")
@blp.arguments(TranscriptQuery, location="query")
@blp.response(200, TranscriptSchema)
def get_audio_file_transcript(query: dict[str, bool], audio_file_id: str) -> Any:
    """Show what was said; while it is pending there are no segments."""
    check_raw(audio_file_id, redacted=query["redacted"])
    with current_runtime().db.reading() as session:
        service.find(session, audio_file_id)
        return shown_transcripts.get_transcript(
            session,
            current_runtime().keyring,
            source_type=SourceType.AUDIO_FILE,
            source_id=audio_file_id,
            **query,
        )


@blp.get("/<id:audio_file_id>/processing-status")
@require_scope("audio:read")
@blp.response(200, schemas.ProcessingStatusSchema)
def get_processing_status(audio_file_id: str) -> Any:
    """Show how far the work is, stage by stage."""
    _heal(audio_file_id)
    with current_runtime().db.reading() as session:
        return status.show(session, audio_file_id)


@blp.get("/<id:audio_file_id>/download-url")
@require_scope("audio:download")
@blp.response(200, schemas.DownloadSchema)
@blp.alt_response(409, description="Nothing was uploaded yet.")
def get_download_url(audio_file_id: str) -> Any:
    """Get a signed link to the bytes."""
    _heal(audio_file_id)
    with current_runtime().db.reading() as session:
        return service.download_link(session, audio_file_id, links=_links())


@blp.post("/<id:audio_file_id>/process")
@require_scope("audio:write", policy=EXPENSIVE)
@blp.arguments(schemas.ProcessWish)
@blp.response(202, schemas.ProcessSchema)
def process_audio_file(body: dict[str, Any], audio_file_id: str) -> Any:
    """Queue transcription and evaluation; while a job is open, that job is the answer."""
    _heal(audio_file_id)
    status_url = _links().status(audio_file_id)
    with current_runtime().db.writing() as session:
        audio, job = processing.request(
            session,
            audio_file_id,
            processing.Wish(**body),
            redact_by_default=current_runtime().settings.redaction,
        )
        return status.accepted(audio, job, status_url=status_url)


def _links() -> Links:
    runtime = current_runtime()
    return Links(runtime.urls, public_address(runtime.settings), runtime.settings.url_ttl_s)


def _heal(audio_file_id: str) -> None:
    """Note an upload whose note was lost in a crash, before the recording is looked at."""
    Recordings(current_runtime()).heal(audio_file_id)
