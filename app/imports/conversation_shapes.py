"""The shape in which a conversation comes in."""

from typing import Any

from marshmallow import validates_schema

from app.conversations.enums import PLATFORMS, ROLES, ConversationStatus
from app.imports.contact_shapes import ContactUpsert, PastMoment, Speech, Values
from app.imports.formats.items import MOST_MESSAGES
from app.web.schemas.base import CamelSchema, reject
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    LanguageTag,
    Nested,
    Number,
    Reference,
    Text,
    Whole,
)

_MOST_TAGS = 50
_MOST_ATTACHMENTS = 20


class AttachmentUpsert(CamelSchema):
    """A file that was sent with a message; only told of, not kept."""

    file_name = Text(255, low=1, required=True)
    content_type = Text(100, allow_none=True, load_default=None)
    size_bytes = Whole(allow_none=True, load_default=None)
    url = Text(2048, allow_none=True, load_default=None)


class MessageUpsert(CamelSchema):
    """A message as another system knows it."""

    role = Choice(ROLES, required=True)
    text = Speech(20_000, required=True)
    sent_at = PastMoment(allow_none=True, load_default=None)
    author_name = Text(200, allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    internal = Flag(load_default=False)
    attachments = Items(Nested(AttachmentUpsert), high=_MOST_ATTACHMENTS, load_default=list)
    details = Values(data_key="metadata", load_default=dict)


class SatisfactionUpsert(CamelSchema):
    """What the customer said of the service."""

    score = Number(low=1, high=5, allow_none=True, load_default=None)
    comment = Text(4000, multiline=True, allow_none=True, load_default=None)


class ConversationUpsert(ContactUpsert):
    """A conversation as another system knows it."""

    messages = Items(Nested(MessageUpsert), low=1, high=MOST_MESSAGES, required=True)
    platform = Choice(PLATFORMS, load_default="other")
    status = Choice(list(ConversationStatus), load_default=ConversationStatus.CLOSED.value)
    subject = Text(500, allow_none=True, load_default=None)
    customer_ref = Text(200, allow_none=True, load_default=None)
    csat = Nested(SatisfactionUpsert, allow_none=True, load_default=None)
    disposition = Text(200, allow_none=True, load_default=None)
    tags = Items(Text(64, low=1), high=_MOST_TAGS, load_default=list)

    @validates_schema
    def _check_tags(self, data: dict[str, Any], **_: Any) -> None:
        if len(set(data.get("tags", ()))) < len(data.get("tags", ())):
            raise reject("tags", "A member stands more than once.")
