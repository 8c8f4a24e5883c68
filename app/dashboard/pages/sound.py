"""Sound of a recording for the player: ranges of limited size, and the waveform."""

from flask import Response, request

from app.audio_files import muting, playback, queries, stored_objects
from app.core.errors import InvalidInput, NotFound
from app.core.principal import ORIGINAL_SOUND
from app.dashboard.blueprint import PageBlueprint
from app.people import audit
from app.people.audit import Action
from app.people.gate import current_actor
from app.web.current import current_runtime
from app.web.principal import check_scope, require_scope
from app.web.transfers import requested_range

blp = PageBlueprint("sound", __name__, url_prefix="/recordings/<id:audio_file_id>")

# Browsers read ahead and then leave the connection open: an answer without end holds a thread.
_MAX_ANSWER_BYTES = 1 << 20


@blp.get("/sound")
@require_scope("audio:download")
def play(audio_file_id: str) -> Response:
    """Answer with a range of the sound, after the audit trail has recorded the listener.

    Masked words are silent, except with `original`.
    """
    runtime = current_runtime()
    original = "original" in request.args
    if original:
        check_scope(ORIGINAL_SOUND)
    copy = None if original else muting.copy_to_hear(runtime, audio_file_id)
    action = Action.ORIGINAL_PLAYED if original else Action.RECORDING_PLAYED
    with runtime.db.reading() as session:
        find = queries.find_stored if copy else queries.find_original
        content_type = find(session, audio_file_id).content_type
    played = copy or playback.played(runtime.storage, audio_file_id, content_type)
    if played is None:
        raise _missing()
    with runtime.db.writing() as session:
        audit.record_daily(session, current_actor(), action, audio_file_id)
    size = played.size_bytes
    requested = requested_range(played.etag, size)
    if requested is None and size > _MAX_ANSWER_BYTES:
        raise InvalidInput(f"Ask for a range: an answer has at most {_MAX_ANSWER_BYTES} bytes.")
    start, stop = requested or (0, size)
    stop = min(stop, start + _MAX_ANSWER_BYTES)
    body = runtime.storage.read(played.object_id, start, stop)
    if body is None:
        raise _missing()
    response = _private(body, played.content_type)
    response.set_etag(played.etag)
    response.accept_ranges = "bytes"
    if requested is not None:
        response.status_code = 206
        response.content_range.set(start, stop, size)
    return response


@blp.get("/wave")
@require_scope("audio:read")
def draw(audio_file_id: str) -> Response:
    """Answer with the waveform, or with 202 while it is drawn for the first time."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        queries.find_stored(session, audio_file_id)
    waveform = runtime.storage.read(stored_objects.wave_id(audio_file_id))
    if waveform is not None:
        return _private(waveform, "application/octet-stream")
    with runtime.db.writing() as session:
        playback.request_waveform(session, audio_file_id)
    return Response(status=202)


def _missing() -> NotFound:
    return NotFound("The file of this recording is missing from the storage.")


def _private(body: bytes, content_type: str) -> Response:
    response = Response(body, content_type=content_type)
    response.headers["Cache-Control"] = "private, no-store"
    return response
