"""Request and response schemas of webhooks; their fields are in snake_case."""

from typing import Any

from marshmallow import ValidationError, fields, validates

from app.core.outgoing_http.addresses import MAX_URL_LENGTH
from app.core.outgoing_http.reply import EXCERPT_BYTES, AttemptOutcome
from app.events.catalogue import EventType
from app.web.schemas.base import (
    FORMAT,
    Changes,
    CodedMessage,
    PlainAnswerSchema,
    PlainSchema,
    about,
)
from app.web.schemas.fields import Choice, Flag, Items, Nested, Text, Timestamp, Whole
from app.web.schemas.query_fields import PageQuery, PeriodQuery, sort_field
from app.webhooks.enums import RECOVERABLE_STATES, DeliveryState, Trigger

_TYPES = tuple(EventType)
_STATUSES = tuple(DeliveryState)
_TRIGGERS = tuple(Trigger)
_OUTCOMES = tuple(AttemptOutcome)
_MOST_OVERLAP_S = 7 * 24 * 3600


class SubscriptionCreate(PlainSchema):
    """The fields of a new subscription, which starts active."""

    url = Text(MAX_URL_LENGTH, low=1, required=True, metadata={"format": "uri"})
    events = Items(Choice(_TYPES), low=1, high=len(_TYPES), required=True)
    description = Text(2000, multiline=True, allow_none=True)

    @validates("events")
    def _check_events(self, events: list[str], **_: Any) -> None:
        if len(set(events)) < len(events):
            raise ValidationError(CodedMessage(FORMAT, "Each event type may be given only once."))


class SubscriptionChange(Changes, SubscriptionCreate):
    active = Flag()


class SubscriptionQuery(PageQuery):
    sort = sort_field("createdAt")


class SubscriptionSchema(PlainAnswerSchema):
    """A subscription, without its secret."""

    id = fields.String(metadata={"example": "wh_01k9zq3s7vf0mb5e2wd8yhx4cn"})
    url = fields.String()
    events = fields.List(Choice(_TYPES))
    description = fields.String(allow_none=True)
    active = fields.Boolean()
    created_at = Timestamp()
    updated_at = Timestamp()
    failing_since = Timestamp(
        allow_none=True, **about("End of the first failed delivery since the last success.")
    )
    deactivated_at = Timestamp(
        allow_none=True, **about("When it was switched off because every delivery failed.")
    )


class IssuedSubscriptionSchema(SubscriptionSchema):
    """A subscription with its signing secret, which is shown only once."""

    signing_secret = fields.String(metadata={"example": "whsec_…"})


class SecretRotate(PlainSchema):
    """Time for which the previous secret still signs `webhook-signature`."""

    overlap_seconds = Whole(high=_MOST_OVERLAP_S, load_default=86400)


class TestRequest(PlainSchema):
    """The event type to send; the first of the subscription when left out."""

    event = Choice(_TYPES)


class StartedDeliverySchema(PlainAnswerSchema):
    """A delivery that was started; its history shows what became of it."""

    delivery_id = fields.String()
    event_id = fields.String()
    event = Choice(_TYPES)
    status = Choice(_STATUSES)


class DeliveryQuery(PeriodQuery):
    """The page and filters of a delivery history; the period filters `created_at`."""

    status = Choice(_STATUSES)
    event = Choice(_TYPES)
    sort = sort_field("createdAt")


class AttemptSchema(PlainAnswerSchema):
    number = Whole(low=1)
    started_at = Timestamp()
    duration_ms = Whole()
    url = fields.String()
    status_code = fields.Integer(allow_none=True)
    outcome = Choice(_OUTCOMES)
    error = fields.String(allow_none=True)
    response_excerpt = fields.String(
        **about(f"Start of the answer's body, at most {EXCERPT_BYTES:,} bytes.")
    )


class DeliverySchema(PlainAnswerSchema):
    id = fields.String(metadata={"example": "dlv_01k9zq9d3tew0vq6m1x8ysb5fh"})
    webhook_id = fields.String()
    event_id = fields.String()
    event = Choice(_TYPES)
    status = Choice(_STATUSES)
    trigger = Choice(_TRIGGERS)
    attempt_count = Whole()
    attempts = Nested(AttemptSchema(many=True))
    next_attempt_at = Timestamp(allow_none=True)
    url = fields.String()
    payload = fields.Dict(**about("The envelope as it is sent."))
    created_at = Timestamp()
    completed_at = Timestamp(allow_none=True)


class RecoverRequest(PlainSchema):
    """The latest deliveries to send again; every failed or canceled one when all is left out."""

    since = Timestamp(**about("Created at this time or later."))
    until = Timestamp(**about("Created before this time."))
    status = Choice(RECOVERABLE_STATES)


class RecoveredSchema(PlainAnswerSchema):
    """The number of new deliveries."""

    count = Whole()


class EventTypeSchema(PlainAnswerSchema):
    event = Choice(_TYPES)
    description = fields.String()
    schema: Any = fields.Dict(**about("JSON Schema (2020-12) of the whole body."))
    example = fields.Dict()
