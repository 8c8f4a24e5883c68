"""Endpoints of imports, beyond the specification."""

from typing import Any

from app.campaigns.schemas import CampaignSchema
from app.conversations.preparation import prepare_conversation
from app.conversations.schemas import ConversationSchema
from app.core.storage import require_space
from app.directory import service as directory
from app.directory.schemas import CallCenterSchema, ExecutiveSchema
from app.imports import (
    campaign_shapes,
    campaigns,
    contact_shapes,
    contacts,
    conversation_shapes,
    directory_shapes,
    intake,
    schemas,
    service,
    voice_call_shapes,
)
from app.imports.external_ids import PATH_PARAMETER, agreed
from app.redaction.redactor import Redactor
from app.voice_calls.preparation import prepare_voice_call
from app.voice_calls.schemas import VoiceCallSchema
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.parser import MAX_JSON_BYTES
from app.web.principal import require_scope

blp = Blueprint(
    "imports",
    __name__,
    url_prefix="/imports",
    description="Extension: the way in for what other systems know",
)
_UPSERT: dict[str, Any] = {"parameters": [PATH_PARAMETER], "tags": ["imports", "extension"]}


@blp.post("", tags=["imports", "extension"])
@require_scope("ingest:write")
@blp.arguments(schemas.ImportCreate)
@blp.response(202, schemas.ImportSchema)
def create_import(body: dict[str, Any]) -> Any:
    """Take records of other systems; a worker writes them."""
    runtime = current_runtime()
    documents = intake.documents_of(body)
    options = intake.options_of(body, runtime.settings.engagement_types)
    require_space(runtime.settings.data_dir, MAX_JSON_BYTES, runtime.settings.min_free_bytes)
    with runtime.db.writing() as session:
        return service.start(
            session, runtime.keyring, format=body["format"], documents=documents, options=options
        )


@blp.get("/<id:import_id>", tags=["imports", "extension"])
@require_scope("ingest:write")
@blp.response(200, schemas.ImportSchema)
def get_import(import_id: str) -> Any:
    """Show an import and what came of it so far."""
    with current_runtime().db.reading() as session:
        return service.get(session, import_id)


@blp.put("/conversations/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(contact_shapes.EvaluateQuery, location="query")
@blp.arguments(conversation_shapes.ConversationUpsert)
@blp.response(200, ConversationSchema)
def put_conversation(query: dict[str, bool], body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the conversation that you know by this key, and have it judged."""
    external_id = agreed(external_id, body.pop("external_id", None))
    values = prepare_conversation(body, Redactor.of(current_runtime()))
    with current_runtime().db.writing() as session:
        record, created = contacts.put_conversation(session, external_id, values, **query)
    return record, 201 if created else 200


@blp.put("/voice-calls/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(contact_shapes.EvaluateQuery, location="query")
@blp.arguments(voice_call_shapes.VoiceCallUpsert)
@blp.response(200, VoiceCallSchema)
def put_voice_call(query: dict[str, bool], body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the voice call that you know by this key, and have it judged."""
    external_id = agreed(external_id, body.pop("external_id", None))
    values = prepare_voice_call(body, Redactor.of(current_runtime()))
    with current_runtime().db.writing() as session:
        record, created = contacts.put_voice_call(session, external_id, values, **query)
    return record, 201 if created else 200


@blp.put("/campaigns/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(campaign_shapes.CampaignUpsert)
@blp.response(200, CampaignSchema)
def put_campaign(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the campaign that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with current_runtime().db.writing() as session:
        campaign, created = campaigns.put(session, external_id, body)
    return campaign, 201 if created else 200


@blp.put("/call-centers/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(directory_shapes.CallCenterUpsert)
@blp.response(200, CallCenterSchema)
def put_call_center(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the call centre that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with current_runtime().db.writing() as session:
        call_center, created = directory.upsert_call_center(session, external_id, body)
    return call_center, 201 if created else 200


@blp.put("/executives/<external_id>", **_UPSERT)
@require_scope("ingest:write")
@blp.arguments(directory_shapes.ExecutiveUpsert)
@blp.response(200, ExecutiveSchema)
def put_executive(body: dict[str, Any], external_id: str) -> Any:
    """Make or replace the executive that you know by this key."""
    external_id = agreed(external_id, body.pop("external_id", None))
    with current_runtime().db.writing() as session:
        executive, created = directory.upsert_executive(session, external_id, body)
    return executive, 201 if created else 200
