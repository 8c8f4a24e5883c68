"""Upserts of single conversations and voice calls over the API, with their evaluations."""

from typing import Any

from sqlalchemy import RowMapping
from sqlalchemy.orm import Session

from app.conversations import queries as conversation_queries
from app.conversations import service as conversations
from app.core.database.upserts import Upserted
from app.imports.loading.named_references import NameResolver
from app.voice_calls import evaluation_requests
from app.voice_calls import queries as voice_call_queries
from app.voice_calls import service as voice_calls


def put_conversation(
    session: Session,
    external_id: str,
    values: dict[str, Any],
    names: dict[str, str],
    *,
    evaluate: bool | None = None,
) -> Upserted[RowMapping]:
    """Create or update a conversation.

    Args:
        values: the columns.
        names: the names that are given in place of ids, by field.
        evaluate: None evaluates a closed or abandoned conversation, True an open one too.
    """
    values |= NameResolver(session).ids_of(names)
    stored = conversations.upsert(session, external_id, values)
    if evaluate is False:
        return stored
    conversation_id = stored.record["id"]
    conversations.request_evaluation(session, conversation_id, even_open=bool(evaluate))
    return stored._replace(record=conversation_queries.get(session, conversation_id))


def put_voice_call(
    session: Session,
    external_id: str,
    values: dict[str, Any],
    names: dict[str, str],
    *,
    evaluate: bool | None = None,
) -> Upserted[dict[str, Any]]:
    """Create or update a voice call; unless `evaluate` is False, an ended call is evaluated.

    The other arguments are those of `put_conversation`.
    """
    values |= NameResolver(session).ids_of(names)
    stored = voice_calls.upsert(session, external_id, values)
    if evaluate is False:
        return stored
    voice_call_id = stored.record["id"]
    evaluation_requests.request_evaluation(session, voice_call_id)
    return stored._replace(record=voice_call_queries.get(session, voice_call_id))
