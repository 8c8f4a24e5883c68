"""Conversations as the API shows them, and the list of them with every filter of contract B8."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, literal, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.conversations.models import Conversation, ConversationSearchText
from app.core.database.paging import Page, PageRequest, select_page
from app.core.errors import NotFound
from app.evaluations.enums import Channel

_HIDDEN = (
    *("digest", "messages_digest", "judged_digest"),
    *("redacted", "raw_text_id", "erased_at"),
)
_COLUMNS = select(
    *(
        getattr(Conversation, column.key)
        for column in Conversation.__table__.columns
        if column.key not in _HIDDEN
    ),
    literal(Channel.CHAT.value).label("channel"),
)
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "started_at": Conversation.started_at,
    "created_at": Conversation.created_at,
    "message_count": Conversation.message_count,
    "score": Conversation.score,
}


def _equal(column: InstrumentedAttribute[Any]) -> Callable[[Any], ColumnElement[bool]]:
    return lambda value: column == value


def _in(column: InstrumentedAttribute[str]) -> Callable[[Sequence[str]], ColumnElement[bool]]:
    """Compare with a single value by `=`, after which the index still gives the order."""
    return lambda values: column == values[0] if len(values) == 1 else column.in_(values)


def _language(code: str) -> ColumnElement[bool]:
    """`en` finds `en` and every `en-…` (RFC 4647, basic filtering)."""
    column = Conversation.language
    return or_(column == code, column.startswith(f"{code}-", autoescape=True))


def _evaluated(wanted: bool) -> ColumnElement[bool]:
    column = Conversation.evaluation_id
    return column.is_not(None) if wanted else column.is_(None)


def _q(words: str) -> ColumnElement[bool]:
    texts = ConversationSearchText
    found = select(texts.conversation_id).where(
        texts.text.contains(words.casefold(), autoescape=True)
    )
    return Conversation.id.in_(found)


_FILTERS: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "engagement_id": _equal(Conversation.engagement_id),
    "campaign_id": _equal(Conversation.campaign_id),
    "call_center_id": _equal(Conversation.call_center_id),
    "executive_id": _equal(Conversation.executive_id),
    "platform": _in(Conversation.platform),
    "status": _in(Conversation.status),
    "has_evaluation": _evaluated,
    "min_messages": lambda least: Conversation.message_count >= least,
    "language": _language,
    "q": _q,
    "start": lambda moment: Conversation.started_at >= moment,
    "end": lambda moment: Conversation.started_at < moment,
}


def list_page(
    session: Session,
    request: PageRequest,
    **filters: str | int | bool | datetime | Sequence[str],
) -> Page[Any]:
    """List conversations as mappings, newest first unless asked otherwise.

    Args:
        filters: the names of contract B8 in snake_case, lists for `platform` and `status`;
            `start` and `end` bound `started_at`.
    """
    wanted = _COLUMNS.where(*(_FILTERS[name](value) for name, value in filters.items()))
    return select_page(session, wanted, request, sortable=_SORTABLE, tail=Conversation.id)


def get(session: Session, conversation_id: str) -> RowMapping:
    """Show a conversation; `NotFound` where there is none."""
    row = session.execute(_COLUMNS.where(Conversation.id == conversation_id)).mappings().first()
    if row is None:
        raise NotFound("There is no such conversation.")
    return row


def search_text(values: Mapping[str, Any], external_id: str) -> str:
    """Gather what `q` looks in, each part on its own line, so that no match spans two."""
    parts = (external_id, values.get("subject"), values.get("customer_ref"))
    return "\n".join(part.casefold() for part in parts if part)
