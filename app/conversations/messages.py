"""The messages of conversations: kept as rows, and read in pages."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from app.conversations.drafts import GIVEN
from app.conversations.models import Conversation, Message
from app.core.database.paging import Page, PageRequest
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.secrets.encryption import Keyring
from app.evaluations.transcripts import store as judged
from app.redaction import raw_texts

_COLUMNS = select(
    *(getattr(Message, attribute) for attribute in Message.__mapper__.column_attrs.keys())  # noqa: SIM118
)


def replace(
    session: Session,
    conversation_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    is_new: bool = False,
) -> None:
    """Bring the messages of a conversation to these; those that are the same keep their ids."""
    before = [] if is_new else of_conversation(session, conversation_id)
    ids: dict[bytes, list[str]] = {}
    for each in reversed(before):
        ids.setdefault(_key(each), []).append(each["id"])
    rows = []
    for each in messages:
        known = ids.get(_key(each))
        row_id = known.pop() if known else new_id("msg")
        rows.append({**each, "id": row_id, "conversation_id": conversation_id})
    same = _common(before, rows)
    if same < len(before):
        session.execute(
            delete(Message).where(Message.conversation_id == conversation_id, Message.index >= same)
        )
    if rows[same:]:
        session.execute(insert(Message), rows[same:])


def of_conversation(session: Session, conversation_id: str) -> list[dict[str, Any]]:
    """Return every message of a conversation in its order."""
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
    """List the messages of a conversation, by index, with the judge's sentiment.

    Args:
        redacted: False shows what was written before it was masked, as far as that is kept.

    Raises:
        NotFound: there is no such conversation.
    """
    conversation = session.get(Conversation, conversation_id)
    if conversation is None:
        raise NotFound("There is no such conversation.")
    first = (request.page - 1) * request.page_size
    # The index has no gaps, so that a page far down is found as fast as the first one.
    statement = _COLUMNS.where(
        Message.conversation_id == conversation_id,
        Message.index >= first,
        Message.index < first + request.page_size,
    ).order_by(Message.index)
    evaluation_id = conversation.evaluation_id
    felt = judged.message_sentiments(session, evaluation_id) if evaluation_id else {}
    raw = None if redacted else raw_texts.opened(session, keyring, conversation.raw_text_id)
    said = raw.messages if raw else {}
    shown = [_shown(dict(row), felt, said) for row in session.execute(statement).mappings()]
    return Page(shown, request.page, request.page_size, conversation.message_count)


def _shown(
    row: Mapping[str, Any], felt: Mapping[str, tuple[str, float]], said: Mapping[str, str]
) -> dict[str, Any]:
    label, score = felt.get(row["id"], (None, None))
    shown = {**row, "sentiment": label, "sentiment_score": score}
    raw = said.get(str(row["index"]))
    return shown if raw is None else {**shown, "text": raw, "redactions": []}


def _common(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> int:
    """Count the rows at the beginning that may stay as they are."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if any(old[name] != value for name, value in new.items()):
            break
        count += 1
    return count


def _key(message: Mapping[str, Any]) -> bytes:
    return orjson.dumps([message[name] for name in GIVEN], option=orjson.OPT_SORT_KEYS)
