"""Schemas of conversations and their messages."""

from typing import Any

from marshmallow import fields, validates_schema

from app.conversations.enums import PLATFORMS, ROLES, ConversationStatus
from app.evaluations.enums import MAX_MESSAGES
from app.evaluations.schemas.contacts import CampaignReference, ContactUpsert
from app.evaluations.schemas.transcripts import RedactionSchema
from app.web.schemas.base import AnswerSchema, CamelSchema, about
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    LanguageTag,
    Nested,
    Number,
    PastMoment,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import (
    Choices,
    PageQuery,
    PeriodQuery,
    QueryFlag,
    QueryWhole,
    sort_field,
)
from app.web.schemas.records import PlainValues, SpokenText, require_distinct

_MAX_TAGS = 50
_MAX_ATTACHMENTS = 20


class ConversationQuery(PeriodQuery):
    """Query of the list of conversations; `from` and `to` bound conversationAt."""

    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    platform = Choices(PLATFORMS)
    status = Choices(list(ConversationStatus))
    has_evaluation = QueryFlag()
    min_messages = QueryWhole()
    language = LanguageTag(**about("`en` also finds `en-GB` and other subtags."))
    q = Text(200, low=1, **about("Part of the subject, externalId or customerRef."))
    sort = sort_field(
        "conversationAt",
        "startedAt",
        "createdAt",
        "messageCount",
        "score",
        default="-conversationAt",
    )


class MessageQuery(PageQuery):
    redacted = QueryFlag(
        load_default=True,
        **about(
            "false returns the texts before masking, where they are still stored. "
            "This also requires the scope transcripts:raw, and each such request is logged."
        ),
    )


class SatisfactionSchema(AnswerSchema):
    """Rating by the customer, 1 to 5."""

    score = fields.Float(allow_none=True)
    comment = fields.String(allow_none=True)


class ConversationSchema(AnswerSchema):
    id = fields.String(metadata={"example": "conv_01k9zq4a7dfk2m5s8w1xq4vbnt"})
    external_id = fields.String(allow_none=True)
    channel = Choice(("chat",))
    platform = Choice(PLATFORMS)
    status = Choice(list(ConversationStatus))
    subject = fields.String(allow_none=True)
    engagement_id = fields.String(allow_none=True)
    campaign_id = fields.String(allow_none=True)
    call_center_id = fields.String(allow_none=True)
    executive_id = fields.String(allow_none=True)
    executives = fields.List(fields.String(), **about("Ids of all executives who took part."))
    customer_ref = fields.String(allow_none=True)
    language = fields.String(allow_none=True)
    started_at = Timestamp(
        allow_none=True, **about("Time of the first message, unless the source gives another.")
    )
    ended_at = Timestamp(allow_none=True)
    duration_seconds = fields.Integer(allow_none=True)
    message_count = fields.Integer(**about("All messages, including internal notes."))
    customer_message_count = fields.Integer()
    agent_message_count = fields.Integer(**about("Without internal notes."))
    bot_message_count = fields.Integer()
    first_response_seconds = fields.Float(
        allow_none=True, **about("Until a person answers; null if message times are missing.")
    )
    average_response_seconds = fields.Float(allow_none=True)
    csat = Nested(SatisfactionSchema, allow_none=True)
    disposition = fields.String(allow_none=True)
    tags = fields.List(fields.String())
    evaluation_id = fields.String(allow_none=True)
    score = fields.Integer(allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    conversation_at = Timestamp()
    created_at = Timestamp()
    updated_at = Timestamp()


class AttachmentSchema(AnswerSchema):
    """A file that was sent with a message; the service does not store its content."""

    file_name = fields.String()
    content_type = fields.String(allow_none=True)
    size_bytes = fields.Integer(allow_none=True)
    url = fields.String(allow_none=True)


class MessageSchema(AnswerSchema):
    id = fields.String(metadata={"example": "msg_01k9zq4a7ef3n6t9x2c5h8kmqv"})
    conversation_id = fields.String()
    index = fields.Integer(**about("From 0, without gaps."))
    role = Choice(ROLES)
    participant_id = fields.String()
    author_name = fields.String(allow_none=True)
    executive_id = fields.String(allow_none=True)
    text = fields.String()
    language = fields.String(allow_none=True)
    sent_at = Timestamp(allow_none=True)
    internal = fields.Boolean(**about("A note that the customer does not see."))
    attachments = fields.List(Nested(AttachmentSchema))
    sentiment = Choice(("positive", "neutral", "negative", "mixed"), allow_none=True)
    sentiment_score = fields.Float(allow_none=True, **about("-1 to 1, once evaluated."))
    response_seconds = fields.Float(
        allow_none=True, **about("Seconds that the customer waited for this answer.")
    )
    redactions = fields.List(Nested(RedactionSchema))
    details = fields.Dict(data_key="metadata", keys=fields.String())


class AttachmentUpsert(CamelSchema):
    """A file that was sent with a message; its content is not stored."""

    file_name = Text(255, low=1, required=True)
    content_type = Text(100, allow_none=True, load_default=None)
    size_bytes = Whole(allow_none=True, load_default=None)
    url = Text(2048, allow_none=True, load_default=None)


class MessageUpsert(CamelSchema):
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
    score = Number(low=1, high=5, allow_none=True, load_default=None)
    comment = Text(4000, multiline=True, allow_none=True, load_default=None)


class ConversationUpsert(ContactUpsert):
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
