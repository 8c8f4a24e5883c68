"""Endpoints of voice calls."""

from typing import Any

from app.audio_files.links import RecordingLinks
from app.evaluations import sources
from app.evaluations.schemas.contacts import EvaluateQuery
from app.redaction.redactor import Redactor
from app.voice_calls import epa, queries, schemas, service
from app.web.addresses import public_address
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope
from app.web.request_record import request_id
from app.web.upserts import put, upsert_of

blp = Blueprint("voice-calls", __name__, description="Calls of a voice bot")


@blp.get("/voice-calls")
@require_scope("voice:read")
@blp.arguments(schemas.VoiceCallQuery, location="query")
@blp.response(200, schemas.VoiceCallSchema(many=True))
def list_voice_calls(query: dict[str, Any]) -> Any:
    """List the voice calls."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return queries.list_page(session, request, **query)


@blp.get("/voice-calls/<id:voice_call_id>")
@require_scope("voice:read")
@blp.response(200, schemas.VoiceCallSchema)
def get_voice_call(voice_call_id: str) -> Any:
    """Show one voice call."""
    with current_runtime().db.reading_once() as session:
        return queries.get(session, voice_call_id)


@blp.get("/voice-calls/<id:voice_call_id>/recording-url")
@require_scope("voice:read")
@blp.response(200, schemas.RecordingSchema)
def get_recording_url(voice_call_id: str) -> Any:
    """Get a signed link to the recording."""
    runtime = current_runtime()
    key = current_principal()
    links = RecordingLinks.of(runtime, public_address(runtime.settings), holder=key.key_id)
    return service.recording_link(
        runtime, voice_call_id, links=links, key=key, request_id=request_id()
    )


@blp.get("/voice-calls/<id:voice_call_id>/epa-results")
@require_scope("voice:read")
@blp.response(200, schemas.EpaSchema)
def get_epa_results(voice_call_id: str) -> Any:
    """Show the performance assessment of a call, derived from its evaluation."""
    with current_runtime().db.reading() as session:
        return epa.assess(session, voice_call_id)


@blp.put("/imports/voice-calls/<external_id>", **upsert_of("voice-calls"))
@require_scope("ingest:write")
@blp.arguments(EvaluateQuery, location="query")
@blp.arguments(schemas.VoiceCallUpsert)
@blp.response(200, schemas.VoiceCallSchema)
def put_voice_call(query: dict[str, bool], body: dict[str, Any], external_id: str) -> Any:
    """Create or replace the voice call with this external id, and evaluate it."""
    values = service.prepare_voice_call(body, Redactor.of(current_runtime()))
    return put(service.put, external_id, values, sources.REFERENCES, **query)
