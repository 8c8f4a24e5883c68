"""Schemas of alert rules, targets, the mail server and digests."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from app.alerts.enums import AlertTrigger, Every
from app.core.outgoing_http.addresses import MAX_URL_LENGTH
from app.evaluations.enums import Channel
from app.evaluations.schemas.contacts import CampaignReference
from app.web.records import RecordSchema
from app.web.schemas.base import AnswerSchema, CamelSchema, Changes, PlainAnswerSchema
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    Nested,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
    Zone,
)
from app.web.schemas.query_fields import PageQuery, sort_field
from app.webhooks.enums import MESSAGE_KINDS, MailSecurity, TargetKind

_MAIL_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+"
_NOT_MAIL = "This must be an e-mail address such as lead@example.com."


class AlertFilters(CamelSchema):
    """The conversations that a rule or a digest is about; empty: all."""

    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    scorecard_id = Reference("sc")
    channel = Choice(list(Channel))


class RuleCreate(CamelSchema):
    name = Text(100, low=1, required=True)
    trigger = Choice(list(AlertTrigger), required=True)
    criterion = Text(200, low=1, allow_none=True, load_default=None)
    below = Whole(low=1, high=100, allow_none=True, load_default=None)
    filters = Nested(AlertFilters, load_default=dict)
    target_ids = Items(Reference("wh"), high=20, load_default=list)
    with_words = Flag(load_default=False)
    active = Flag(load_default=True)


class RuleChange(Changes, RuleCreate):
    pass


class TrialOfRuleSchema(AnswerSchema):
    """Trial of a rule on the last 30 days."""

    messages = fields.Integer()
    matches = fields.Integer()
    busiest_day = fields.Integer()
    is_noisy = fields.Boolean()
    sentence = fields.String()


class RuleSchema(RecordSchema):
    sometimes = frozenset({"trial"})

    trigger = Choice(list(AlertTrigger))
    criterion = fields.String(allow_none=True)
    below = fields.Integer(allow_none=True)
    filters = Nested(AlertFilters)
    target_ids = fields.List(fields.String())
    with_words = fields.Boolean()
    sent_at = Timestamp(allow_none=True)
    trial = Nested(TrialOfRuleSchema, allow_none=True)


class DigestCreate(CamelSchema):
    name = Text(100, low=1, required=True)
    target_id = Reference("wh", required=True)
    filters = Nested(AlertFilters, load_default=dict)
    every = Choice(list(Every), load_default=Every.WEEK)
    weekday = Whole(high=6, load_default=4)
    hour = Whole(high=23, load_default=8)
    timezone = Zone(load_default="UTC")
    active = Flag(load_default=True)


class DigestChange(Changes, DigestCreate):
    pass


class DigestSchema(RecordSchema):
    target_id = fields.String()
    filters = Nested(AlertFilters)
    every = Choice(list(Every))
    weekday = fields.Integer()
    hour = fields.Integer()
    timezone = fields.String()
    next_at = Timestamp()
    sent_at = Timestamp(allow_none=True)
    unsubscribed_at = Timestamp(allow_none=True)


class SentLineSchema(PlainAnswerSchema):
    text = fields.String()
    url = fields.String(allow_none=True)
    words = fields.String(allow_none=True)


class SentSectionSchema(PlainAnswerSchema):
    heading = fields.String()
    lines = fields.List(Nested(SentLineSchema))


class SentMessageSchema(PlainAnswerSchema):
    """A message, in the form of the events `alert.raised` and `digest.sent`."""

    source_id = fields.String()
    title = fields.String()
    sections = fields.List(Nested(SentSectionSchema))
    url = fields.String()
    unsubscribe_url = fields.String(allow_none=True)


class TargetCreate(CamelSchema):
    kind = Choice(MESSAGE_KINDS, required=True)
    address = Text(MAX_URL_LENGTH, low=1, required=True)
    description = Text(200)

    @validates_schema
    def _check_address(self, data: dict[str, Any], **_: Any) -> None:
        is_mail = data.get("kind") == TargetKind.EMAIL
        if is_mail and "address" in data:
            try:
                MailAddress().deserialize(data["address"])
            except ValidationError as error:
                raise ValidationError({"address": error.messages}) from error


class TargetQuery(PageQuery):
    sort = sort_field("createdAt")


class TargetSchema(AnswerSchema):
    """A target; of a chat, only the host of its address is shown."""

    id = fields.String()
    kind = Choice(MESSAGE_KINDS)
    url = fields.String()
    description = fields.String(allow_none=True)
    active = fields.Boolean()
    created_at = Timestamp()
    failing_since = Timestamp(allow_none=True)
    deactivated_at = Timestamp(allow_none=True)


class MailAddress(Pattern):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_MAIL_ADDRESS, _NOT_MAIL, **kwargs)


class MailServerBody(CamelSchema):
    """The mail server; without `password`, that of the same host and user stays."""

    host = Pattern("[A-Za-z0-9._:-]{1,253}", "This must be a host name.", required=True)
    port = Whole(low=1, high=65535, load_default=587)
    security = Choice(list(MailSecurity), load_default=MailSecurity.STARTTLS)
    user = Text(200, low=1, allow_none=True, load_default=None)
    password = Text(500, low=1)
    sender = MailAddress(required=True)


class MailServerSchema(AnswerSchema):
    """The mail server, without its password."""

    host = fields.String()
    port = fields.Integer()
    security = Choice(list(MailSecurity))
    user = fields.String(allow_none=True)
    sender = fields.String()
    updated_at = Timestamp()
