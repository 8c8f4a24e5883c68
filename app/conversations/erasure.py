"""Erasure of conversations: texts and names are deleted, counts and times are kept."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from app.conversations.models import Conversation, ConversationSearchText, Message
from app.core.clock import utc_now
from app.core.database.filters import searchable


def is_of(customer_ref: str) -> ColumnElement[bool]:
    """Whether a conversation is of this customer and not erased."""
    return Conversation.customer_ref == customer_ref


def erase(session: Session, conversation_ids: Sequence[str]) -> None:
    """Delete the texts of these conversations; their evaluations are erased separately."""
    session.execute(
        update(Message)
        .where(Message.conversation_id.in_(conversation_ids))
        .values(text="", redactions=[], author_name=None, attachments=[], details={})
        .execution_options(synchronize_session=False)
    )
    for row in session.scalars(
        select(Conversation)
        .where(Conversation.id.in_(conversation_ids))
        .order_by(Conversation.id)
        .with_for_update()
    ):
        row.subject = row.customer_ref = row.raw_text_id = None
        row.csat = {**row.csat, "comment": None} if row.csat else None
        row.labels = {}
        row.digest = row.messages_digest = ""
        row.judged_digest = None
        row.erased_at = row.updated_at = utc_now()
        search_text = session.get(ConversationSearchText, row.id)
        if search_text is not None:
            search_text.text = searchable(row.external_id)
