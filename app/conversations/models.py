"""Tables of conversations and their messages."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.conversations.enums import ConversationStatus
from app.core.database.session import Table, UtcDateTime, first_known, partial_index
from app.core.database.upserts import ExternallyKeyed

_OPTIONAL_JSON = JSON(none_as_null=True)
# Columns that lists filter by in any combination. Every index contains them, so that a filtered
# count reads only the index.
_FACETS = (
    *("status", "platform", "language"),
    *("message_count", "score", "evaluation_id"),
)


class Conversation(ExternallyKeyed):
    """A chat, with counts and times of its messages.

    `digest` is the hash of all given values, `messages_digest` of the messages, `judged_digest` of
    the values that the newest evaluation depends on. `evaluation_id` and `score` belong to the
    current evaluation. `redacted` tells whether the messages are masked; `raw_text_id` refers to
    their sealed originals.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_conversation", "conversation_at", "id", *_FACETS),
        Index("ix_conversations_created", "created_at", "id"),
        Index("ix_conversations_engagement", "engagement_id", "conversation_at", "id", *_FACETS),
        Index("ix_conversations_campaign", "campaign_id", "conversation_at", "id", *_FACETS),
        Index("ix_conversations_call_center", "call_center_id", "conversation_at", "id", *_FACETS),
        Index("ix_conversations_executive", "executive_id", "conversation_at", "id", *_FACETS),
        Index("ix_conversations_started", "started_at", "id"),
        Index("ix_conversations_message_count", "message_count", "id"),
        Index("ix_conversations_score", "score", "id"),
        partial_index("ix_conversations_kept", "conversation_at", "id", where="erased_at IS NULL"),
        Index("ix_conversations_customer", "customer_ref"),
        partial_index(
            "ix_conversations_unevaluated", "conversation_at", where="evaluation_id IS NULL"
        ),
    )

    engagement_id: Mapped[str | None] = mapped_column(ForeignKey("engagements.id"))
    campaign_id: Mapped[str | None]
    call_center_id: Mapped[str | None]
    executive_id: Mapped[str | None]
    executives: Mapped[list[str]] = mapped_column(JSON, default=list)
    platform: Mapped[str]
    status: Mapped[str] = mapped_column(default=ConversationStatus.CLOSED)
    subject: Mapped[str | None]
    customer_ref: Mapped[str | None]
    language: Mapped[str | None]
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    conversation_at: Mapped[datetime] = mapped_column(
        UtcDateTime, default=first_known("started_at", "created_at")
    )
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    duration_seconds: Mapped[int | None]
    message_count: Mapped[int]
    customer_message_count: Mapped[int]
    agent_message_count: Mapped[int]
    bot_message_count: Mapped[int]
    first_response_seconds: Mapped[float | None]
    average_response_seconds: Mapped[float | None]
    csat: Mapped[dict[str, Any] | None] = mapped_column(_OPTIONAL_JSON)
    disposition: Mapped[str | None]
    tags: Mapped[list[str]] = mapped_column(JSON, default=list)
    evaluation_id: Mapped[str | None]
    score: Mapped[int | None]
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    digest: Mapped[str]
    messages_digest: Mapped[str]
    judged_digest: Mapped[str | None]
    redacted: Mapped[bool] = mapped_column(default=False)
    raw_text_id: Mapped[str | None]
    erased_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Message(Table):
    """A message; `index` counts from 0 without gaps, and an unchanged message keeps its id."""

    __tablename__ = "messages"
    __table_args__ = (Index("uq_messages_index", "conversation_id", "index", unique=True),)

    id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id"))
    index: Mapped[int]
    role: Mapped[str]
    participant_id: Mapped[str]
    author_name: Mapped[str | None]
    executive_id: Mapped[str | None]
    text: Mapped[str]
    redactions: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    language: Mapped[str | None]
    sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    internal: Mapped[bool] = mapped_column(default=False)
    attachments: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    response_seconds: Mapped[float | None]
    details: Mapped[dict[str, Any]] = mapped_column("metadata", JSON, default=dict)


class ConversationSearchText(Table):
    """Case-folded text that `q` searches; a separate narrow table, since a search reads every row."""

    __tablename__ = "conversation_search_texts"

    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id"), primary_key=True)
    text: Mapped[str]
