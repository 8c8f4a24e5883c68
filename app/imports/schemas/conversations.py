"""Schema of an imported conversation."""

from typing import Any

from marshmallow import validates_schema

from app.conversations.enums import PLATFORMS, ROLES, ConversationStatus
from app.imports.formats.records import MAX_MESSAGES
from app.imports.schemas.base import require_distinct
from app.imports.schemas.contacts import ContactUpsert
from app.imports.schemas.fields import PastMoment, PlainValues, SpokenText
from app.web.schemas.base import CamelSchema
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

_MAX_TAGS = 50
_MAX_ATTACHMENTS = 20


class AttachmentUpsert(CamelSchema):
    """A file that was sent with a message; its content is not stored."""

    file_name = Text(255, low=1, required=True)
    content_type = Text(100, allow_none=True, load_default=None)
    size_bytes = Whole(allow_none=True, load_default=None)
    url = Text(2048, allow_none=True, load_default=None)


class MessageUpsert(CamelSchema):
    """A message of another system."""

    role = Choice(ROLES, required=True)
    text = SpokenText(20_000, required=True)
    sent_at = PastMoment(allow_none=True, load_default=None)
    author_name = Text(200, allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    internal = Flag(load_default=False)
    attachments = Items(Nested(AttachmentUpsert), high=_MAX_ATTACHMENTS, load_default=list)
    details = PlainValues(data_key="metadata", load_default=dict)


class SatisfactionUpsert(CamelSchema):
    """The customer's rating of the service."""

    score = Number(low=1, high=5, allow_none=True, load_default=None)
    comment = Text(4000, multiline=True, allow_none=True, load_default=None)


class ConversationUpsert(ContactUpsert):
    """A conversation of another system."""

    messages = Items(Nested(MessageUpsert), low=1, high=MAX_MESSAGES, required=True)
    platform = Choice(PLATFORMS, load_default="other")
    status = Choice(list(ConversationStatus), load_default=ConversationStatus.CLOSED.value)
    subject = Text(500, allow_none=True, load_default=None)
    customer_ref = Text(200, allow_none=True, load_default=None)
    csat = Nested(SatisfactionUpsert, allow_none=True, load_default=None)
    disposition = Text(200, allow_none=True, load_default=None)
    tags = Items(Text(64, low=1), high=_MAX_TAGS, load_default=list)

    @validates_schema
    def _check_tags(self, data: dict[str, Any], **_: Any) -> None:
        require_distinct(data, "tags")
