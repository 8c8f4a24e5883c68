"""Messages of conversations: replaced as a whole and read in pages."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from app.conversations.models import Conversation, Message
from app.conversations.preparation import GIVEN_COLUMNS
from app.core.database.paging import Page, PageRequest
from app.core.database.rows import find_row
from app.core.ids import new_id
from app.core.secrets.encryption import Keyring
from app.evaluations import transcripts
from app.redaction import raw_texts

_COLUMNS = select(
    *(getattr(Message, attribute) for attribute in Message.__mapper__.column_attrs.keys())  # noqa: SIM118
)


def replace(session: Session, conversation_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Replace the messages of a conversation; unchanged messages keep their ids."""
    before = of_conversation(session, conversation_id)
    ids: dict[bytes, list[str]] = {}
    for message in reversed(before):
        ids.setdefault(_key(message), []).append(message["id"])
    rows = []
    for message in messages:
        former_ids = ids.get(_key(message))
        row_id = former_ids.pop() if former_ids else new_id("msg")
        rows.append({**message, "id": row_id, "conversation_id": conversation_id})
    unchanged = _count_unchanged(before, rows)
    if unchanged < len(before):
        session.execute(
            delete(Message).where(
                Message.conversation_id == conversation_id, Message.index >= unchanged
            )
        )
    insert_all(session, rows[unchanged:])


def new_rows(conversation_id: str, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "id": new_id("msg"), "conversation_id": conversation_id} for message in messages
    ]


def insert_all(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        session.execute(insert(Message), rows)


def of_conversation(session: Session, conversation_id: str) -> list[dict[str, Any]]:
    statement = _COLUMNS.where(Message.conversation_id == conversation_id).order_by(Message.index)
    return [dict(row) for row in session.execute(statement).mappings()]


def list_page(
    session: Session,
    keyring: Keyring,
    request: PageRequest,
    conversation_id: str,
    *,
    redacted: bool = True,
) -> Page[Any]:
    """Return a page of messages in order, with the sentiment of the current evaluation.

    Args:
        redacted: False returns the texts before masking, where they are still stored.

    Raises:
        NotFound: there is no such conversation.
    """
    conversation = find_row(session, Conversation, conversation_id, "conversation")
    first = request.offset
    # The index has no gaps, so that the last page costs as much as the first.
    statement = _COLUMNS.where(
        Message.conversation_id == conversation_id,
        Message.index >= first,
        Message.index < first + request.page_size,
    ).order_by(Message.index)
    evaluation_id = conversation.evaluation_id
    sentiments = transcripts.message_sentiments(session, evaluation_id) if evaluation_id else {}
    raw = None if redacted else raw_texts.find_originals(session, keyring, conversation.raw_text_id)
    originals = raw.messages if raw else {}
    records = [
        _record(dict(row), sentiments, originals) for row in session.execute(statement).mappings()
    ]
    return Page(records, request.page, request.page_size, conversation.message_count)


def _record(
    row: Mapping[str, Any],
    sentiments: Mapping[str, tuple[str, float]],
    originals: Mapping[str, str],
) -> dict[str, Any]:
    label, score = sentiments.get(row["id"], (None, None))
    record = {**row, "sentiment": label, "sentiment_score": score}
    original = originals.get(str(row["index"]))
    return record if original is None else {**record, "text": original, "redactions": []}


def _count_unchanged(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> int:
    """Count the first rows that are already stored."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if any(old[name] != value for name, value in new.items()):
            break
        count += 1
    return count


def _key(message: Mapping[str, Any]) -> bytes:
    return orjson.dumps([message[name] for name in GIVEN_COLUMNS], option=orjson.OPT_SORT_KEYS)
