"""Endpoints of conversations."""

from typing import Any

from app.conversations import messages, queries, schemas, service
from app.conversations.preparation import prepare_conversation
from app.evaluations import sources
from app.evaluations.schemas.contacts import EvaluateQuery
from app.redaction.redactor import Redactor
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import check_raw, require_scope
from app.web.upserts import put, upsert_of

blp = Blueprint("conversations", __name__, description="Chats and their messages")


@blp.get("/conversations")
@require_scope("conversations:read")
@blp.arguments(schemas.ConversationQuery, location="query")
@blp.response(200, schemas.ConversationSchema(many=True))
def list_conversations(query: dict[str, Any]) -> Any:
    """List the conversations."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return queries.list_page(session, request, **query)


@blp.get("/conversations/<id:conversation_id>")
@require_scope("conversations:read")
@blp.response(200, schemas.ConversationSchema)
def get_conversation(conversation_id: str) -> Any:
    """Show one conversation."""
    with current_runtime().db.reading_once() as session:
        return queries.get(session, conversation_id)


@blp.get("/conversations/<id:conversation_id>/messages")
@require_scope("conversations:read")
@blp.arguments(schemas.MessageQuery, location="query")
@blp.response(200, schemas.MessageSchema(many=True))
def list_messages(query: dict[str, Any], conversation_id: str) -> Any:
    """List the messages of a conversation in their order."""
    redacted = query["redacted"]
    check_raw(conversation_id, redacted=redacted)
    with current_runtime().db.reading() as session:
        return messages.list_page(
            session,
            current_runtime().keyring,
            query["page_request"],
            conversation_id,
            redacted=redacted,
        )


@blp.put("/imports/conversations/<external_id>", **upsert_of("conversations"))
@require_scope("ingest:write")
@blp.arguments(EvaluateQuery, location="query")
@blp.arguments(schemas.ConversationUpsert)
@blp.response(200, schemas.ConversationSchema)
def put_conversation(query: dict[str, bool], body: dict[str, Any], external_id: str) -> Any:
    """Create or replace the conversation with this external id, and evaluate it."""
    values = prepare_conversation(body, Redactor.of(current_runtime()))
    return put(service.put, external_id, values, sources.REFERENCES, **query)
