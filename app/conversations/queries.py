"""Queries of conversations: one, or a filtered page."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, literal, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.conversations.models import Conversation, ConversationSearchText
from app.core.database.filters import (
    Filters,
    at_least,
    conditions,
    contains_in,
    is_set,
    language,
    of_contacts,
    one_of,
    searchable,
)
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import columns_without, find_mapping
from app.core.database.session import Reader
from app.evaluations.enums import Channel

_HIDDEN = (
    *("digest", "messages_digest", "judged_digest"),
    *("redacted", "raw_text_id", "erased_at"),
)
_COLUMNS = select(
    *columns_without(Conversation, _HIDDEN),
    literal(Channel.CHAT.value).label("channel"),
)
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "started_at": Conversation.started_at,
    "conversation_at": Conversation.conversation_at,
    "created_at": Conversation.created_at,
    "message_count": Conversation.message_count,
    "score": Conversation.score,
}


_FILTERS: Filters = {
    **of_contacts(Conversation),
    "platform": one_of(Conversation.platform),
    "status": one_of(Conversation.status),
    "has_evaluation": is_set(Conversation.evaluation_id),
    "min_messages": at_least(Conversation.message_count),
    "language": language(Conversation.language),
    "q": contains_in(
        Conversation.id, ConversationSearchText.conversation_id, ConversationSearchText.text
    ),
}


def list_page(
    session: Session,
    request: PageRequest,
    **filters: str | int | bool | datetime | Sequence[str],
) -> Page[Any]:
    """Return a page of conversations, newest first by default."""
    statement = _COLUMNS.where(*conditions(_FILTERS, filters))
    return select_page(session, statement, request, sortable=_SORTABLE, tail=Conversation.id)


def get(session: Reader, conversation_id: str) -> RowMapping:
    """Return a conversation for the API; raises `NotFound`."""
    return find_mapping(session, _COLUMNS.where(Conversation.id == conversation_id), "conversation")


def search_text(values: Mapping[str, Any], external_id: str) -> str:
    return searchable(external_id, values.get("subject"), values.get("customer_ref"))
