"""Upserts of single conversations and voice calls over the API, with their evaluations."""

from typing import Any

from sqlalchemy import RowMapping
from sqlalchemy.orm import Session

from app.conversations import queries as conversation_queries
from app.conversations import service as conversations
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
) -> tuple[RowMapping, bool]:
    """Create or update a conversation; the second value tells whether it was created.

    Args:
        values: the columns.
        names: the names that are given in place of ids, by field.
        evaluate: None evaluates a closed or abandoned conversation, True an open one too.

    Raises:
        InvalidInput: a referenced row does not exist.
    """
    ids = NameResolver(session).ids_of(names)
    record, created, _ = conversations.upsert(session, external_id, {**values, **ids})
    if evaluate is False:
        return record, created
    conversations.request_evaluation(session, record["id"], even_open=bool(evaluate))
    return conversation_queries.get(session, record["id"]), created


def put_voice_call(
    session: Session,
    external_id: str,
    values: dict[str, Any],
    names: dict[str, str],
    *,
    evaluate: bool | None = None,
) -> tuple[dict[str, Any], bool]:
    """Create or update a voice call; the second value tells whether it was created.

    Args:
        values: the columns.
        names: the names that are given in place of ids, by field.
        evaluate: unless False, an ended call is evaluated.

    Raises:
        InvalidInput: a referenced row does not exist.
    """
    ids = NameResolver(session).ids_of(names)
    record, created, _ = voice_calls.upsert(session, external_id, {**values, **ids})
    if evaluate is False:
        return record, created
    evaluation_requests.request_evaluation(session, record["id"])
    return voice_call_queries.get(session, record["id"]), created
