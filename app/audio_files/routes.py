"""Endpoints of audio files."""

from typing import Any

from app.audio_files import muting, pairs, playback, queries, schemas, stored_objects, uploads
from app.audio_files.links import RecordingLinks
from app.audio_files.processing import requests, stages
from app.audio_files.uploads import AudioObjects
from app.core.database.session import Database
from app.evaluations import shown_transcripts
from app.evaluations.schemas.transcripts import TranscriptQuery, TranscriptSchema
from app.web.addresses import public_address
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, check_raw, current_principal, require_scope
from app.web.request_record import request_id

blp = Blueprint(
    "audio-files",
    __name__,
    url_prefix="/audio-files",
    description="Recordings: uploaded, transcribed and evaluated",
)


@blp.get("")
@require_scope("audio:read")
@blp.arguments(schemas.AudioFileQuery, location="query")
@blp.response(200, schemas.AudioFileSchema(many=True))
def list_audio_files(query: dict[str, Any]) -> Any:
    """List the audio files."""
    page_request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return queries.list_page(session, page_request, **query)


@blp.post("/upload-url")
@require_scope("audio:write")
@blp.arguments(schemas.UploadCreate)
@blp.response(201, schemas.UploadSchema)
def create_upload_url(body: dict[str, Any]) -> Any:
    """Reserve an upload and return its link, which can be used once."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        return uploads.reserve(session, runtime, links=_links(), **body)


@blp.post("/pairs", tags=["audio-files", "extension"])
@require_scope("audio:write")
@blp.arguments(schemas.PairCreate)
@blp.response(201, schemas.PairSchema)
def create_pair(body: dict[str, Any]) -> Any:
    """Reserve the uploads of both sides of a call; a worker joins them to one recording."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        return pairs.reserve(session, runtime, links=_links(), **body)


@blp.get("/<id:audio_file_id>")
@require_scope("audio:read")
@blp.response(200, schemas.AudioFileSchema)
def get_audio_file(audio_file_id: str) -> Any:
    """Show one audio file."""
    with _database(audio_file_id).reading_once() as session:
        return queries.show(session, audio_file_id)


@blp.get("/<id:audio_file_id>/transcript")
@require_scope("audio:read")
@blp.arguments(TranscriptQuery, location="query")
@blp.response(200, TranscriptSchema)
def get_audio_file_transcript(query: dict[str, bool], audio_file_id: str) -> Any:
    """Show the transcript; it has no segments while it is pending."""
    check_raw(audio_file_id, redacted=query["redacted"])
    with current_runtime().db.reading() as session:
        queries.find(session, audio_file_id)
        keyring = current_runtime().keyring
        return shown_transcripts.of_recording(session, keyring, audio_file_id, **query)


@blp.get("/<id:audio_file_id>/processing-status")
@require_scope("audio:read")
@blp.response(200, schemas.ProcessingStatusSchema)
def get_processing_status(audio_file_id: str) -> Any:
    """Show the processing status with its stages."""
    with _database(audio_file_id).reading() as session:
        return stages.show_status(session, audio_file_id)


@blp.get("/<id:audio_file_id>/download-url")
@require_scope("audio:download")
@blp.arguments(schemas.DownloadQuery, location="query")
@blp.response(200, schemas.DownloadSchema)
@blp.alt_response(409, description="Not uploaded, not transcribed yet, or being muted.")
def get_download_url(query: dict[str, bool], audio_file_id: str) -> Any:
    """Return a signed download link; masked words are silent, unless the original is requested."""
    database = _database(audio_file_id)
    copy = muting.copy_for_key(
        current_runtime(),
        audio_file_id,
        key=current_principal(),
        original=query["original"],
        request_id=request_id(),
    )
    with database.reading() as session:
        return queries.download_link(session, audio_file_id, links=_links(), copy=copy)


@blp.post("/<id:audio_file_id>/complete")
@require_scope("audio:write")
@blp.response(200, schemas.AudioFileSchema)
@blp.alt_response(409, description="The recording has not been uploaded.")
def complete_upload(audio_file_id: str) -> Any:
    """Record an upload that went straight to an object storage; a second call changes nothing."""
    with _database(audio_file_id).reading() as session:
        queries.find_stored(session, audio_file_id)
        return queries.show(session, audio_file_id)


@blp.get("/<id:audio_file_id>/waveform")
@require_scope("audio:read")
@blp.response(200, schemas.WaveformSchema)
@blp.alt_response(409, description="The recording has not been uploaded.")
def get_waveform(audio_file_id: str) -> Any:
    """Show the waveform; that of an older recording is made at the first request."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        queries.find_stored(session, audio_file_id)
    shown = {"audio_file_id": audio_file_id, "status": "drawing", "peaks_per_second": None}
    waveform = runtime.storage.read(stored_objects.wave_id(audio_file_id))
    if waveform is not None:
        per_second, channels = playback.peaks_of(waveform)
        return {**shown, "status": "ready", "peaks_per_second": per_second, "channels": channels}
    with runtime.db.writing() as session:
        playback.request_waveform(session, audio_file_id)
    return {**shown, "channels": []}


@blp.post("/<id:audio_file_id>/process")
@require_scope("audio:write", policy=EXPENSIVE)
@blp.arguments(schemas.ProcessingRequestSchema)
@blp.response(202, schemas.ProcessingJobSchema)
def process_audio_file(body: dict[str, Any], audio_file_id: str) -> Any:
    """Queue transcription and evaluation; an open job is returned instead of a second one."""
    status_url = _links().status(audio_file_id)
    with _database(audio_file_id).writing() as session:
        audio, job = requests.request_processing(
            session,
            audio_file_id,
            requests.ProcessingRequest(**body),
            redact_by_default=current_runtime().settings.redaction,
        )
        return requests.shown_job(audio, job, status_url=status_url)


def _links() -> RecordingLinks:
    runtime = current_runtime()
    return RecordingLinks.of(
        runtime, public_address(runtime.settings), holder=current_principal().key_id
    )


def _database(audio_file_id: str) -> Database:
    """Return the database, in which an upload of this recording that has arrived is recorded now."""
    runtime = current_runtime()
    AudioObjects(runtime).reconcile(audio_file_id)
    return runtime.db
