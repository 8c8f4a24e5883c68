"""Conversations and voice calls on their way in: names become ids, and what has ended is judged."""

from typing import Any

from sqlalchemy import RowMapping
from sqlalchemy.orm import Session

from app.conversations import queries as conversation_queries
from app.conversations import service as conversations
from app.imports.contact_shapes import names_in
from app.imports.names import Names
from app.voice_calls import evaluation_requests
from app.voice_calls import queries as voice_call_queries
from app.voice_calls import service as voice_calls


def put_conversation(
    session: Session, external_id: str, values: dict[str, Any], *, evaluate: bool | None = None
) -> tuple[RowMapping, bool]:
    """Bring a conversation to these values, and tell whether it had to be made.

    Args:
        values: what `ConversationUpsert` loads.
        evaluate: None judges it when it is closed or abandoned, True also while it is open.

    Raises:
        InvalidInput: it refers to something that is not there.
    """
    record, created, _ = conversations.upsert(session, external_id, _with_ids(session, values))
    if evaluate is False:
        return record, created
    conversations.request_evaluation(session, record["id"], even_open=bool(evaluate))
    return conversation_queries.get(session, record["id"]), created


def put_voice_call(
    session: Session, external_id: str, values: dict[str, Any], *, evaluate: bool | None = None
) -> tuple[dict[str, Any], bool]:
    """Bring a voice call to these values, and tell whether it had to be made.

    Args:
        values: what `VoiceCallUpsert` loads.
        evaluate: unless False, an ended call is judged.

    Raises:
        InvalidInput: it refers to something that is not there.
    """
    record, created, _ = voice_calls.upsert(session, external_id, _with_ids(session, values))
    if evaluate is False:
        return record, created
    evaluation_requests.request_evaluation(session, record["id"])
    return voice_call_queries.get(session, record["id"]), created


def _with_ids(session: Session, values: dict[str, Any]) -> dict[str, Any]:
    names = names_in(values)
    return {**values, **Names(session, create=False, engagement_type="").ids(names)}
