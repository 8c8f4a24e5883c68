"""Shapes of webhooks: snake_case, as the specification writes them (A5, B12, C)."""

from typing import Any

from marshmallow import ValidationError, fields, validates

from app.core.addresses import MAX_URL_LENGTH
from app.events.catalogue import EventType
from app.web.schemas.base import PlainSchema
from app.web.schemas.fields import Choice, Flag, Items, Moment, Nested, Text, Whole
from app.web.schemas.messages import FORMAT, Message
from app.web.schemas.pagination import PageQuery, PeriodQuery, sort_field

_TYPES = tuple(each.value for each in EventType)
_STATUSES = ("pending", "delivering", "succeeded", "failed", "canceled")
_RECOVERABLE = ("failed", "canceled")
_TRIGGERS = ("event", "test", "manual")
_OUTCOMES = (
    "success",
    "http_error",
    "timeout",
    "connection_error",
    "tls_error",
    "blocked_url",
)
_OVERLAP_MOST_S = 7 * 24 * 3600


class SubscriptionChange(PlainSchema):
    """The fields of a subscription that may change."""

    url = Text(MAX_URL_LENGTH, low=1)
    events = Items(Choice(_TYPES), low=1, high=len(_TYPES))
    active = Flag()
    description = Text(2000, multiline=True, allow_none=True)

    @validates("events")
    def _check_events(self, events: list[str], **_: Any) -> None:
        if len(set(events)) < len(events):
            raise ValidationError(Message(FORMAT, "Name each type once."))


class SubscriptionCreate(SubscriptionChange):
    """What a new subscription needs; it starts active."""

    class Meta(SubscriptionChange.Meta):
        """Options that marshmallow reads."""

        exclude = ("active",)

    url = Text(MAX_URL_LENGTH, low=1, required=True, metadata={"format": "uri"})
    events = Items(Choice(_TYPES), low=1, high=len(_TYPES), required=True)


class SubscriptionQuery(PageQuery):
    """The page of the list of subscriptions."""

    sort = sort_field("createdAt")


class SubscriptionSchema(PlainSchema):
    """A subscription as it is shown: never its secret."""

    id = fields.String(required=True, metadata={"example": "wh_01k9zq3s7vf0mb5e2wd8yhx4cn"})
    url = fields.String(required=True)
    events = fields.List(Choice(_TYPES), required=True)
    description = fields.String(required=True, allow_none=True)
    active = fields.Boolean(required=True)
    created_at = Moment(required=True)
    updated_at = Moment(required=True)
    failing_since = Moment(
        required=True,
        allow_none=True,
        metadata={"description": "End of the first failed delivery since the last success."},
    )
    deactivated_at = Moment(
        required=True,
        allow_none=True,
        metadata={"description": "When it was switched off because every delivery failed."},
    )


class IssuedSubscriptionSchema(SubscriptionSchema):
    """A subscription with its signing secret, shown this once."""

    signing_secret = fields.String(required=True, metadata={"example": "whsec_…"})


class SecretRotate(PlainSchema):
    """How long the secret before still signs `webhook-signature`."""

    overlap_seconds = Whole(high=_OVERLAP_MOST_S, load_default=86400)


class TestRequest(PlainSchema):
    """Which of the subscription's types to send; its first when left out."""

    event = Choice(_TYPES)


class StartedDeliverySchema(PlainSchema):
    """A delivery that is on its way; its history tells the rest."""

    delivery_id = fields.String(required=True)
    event_id = fields.String(required=True)
    event = Choice(_TYPES, required=True)
    status = Choice(_STATUSES, required=True)


class DeliveryQuery(PeriodQuery):
    """The page and the filters of a delivery history; the period is of `created_at`."""

    status = Choice(_STATUSES)
    event = Choice(_TYPES)
    sort = sort_field("createdAt")


class AttemptSchema(PlainSchema):
    """One request and what came of it."""

    number = Whole(low=1, required=True)
    started_at = Moment(required=True)
    duration_ms = Whole(required=True)
    url = fields.String(required=True)
    status_code = fields.Integer(required=True, allow_none=True)
    outcome = Choice(_OUTCOMES, required=True)
    error = fields.String(required=True, allow_none=True)
    response_excerpt = fields.String(
        required=True, metadata={"description": "Start of the answer's body, at most 1,024 bytes."}
    )


class DeliverySchema(PlainSchema):
    """One event owed to one subscription."""

    id = fields.String(required=True, metadata={"example": "dlv_01k9zq9d3tew0vq6m1x8ysb5fh"})
    webhook_id = fields.String(required=True)
    event_id = fields.String(required=True)
    event = Choice(_TYPES, required=True)
    status = Choice(_STATUSES, required=True)
    trigger = Choice(_TRIGGERS, required=True)
    attempt_count = Whole(required=True)
    attempts = Nested(AttemptSchema(many=True), required=True)
    next_attempt_at = Moment(required=True, allow_none=True)
    url = fields.String(required=True)
    payload = fields.Dict(required=True, metadata={"description": "The envelope as it is sent."})
    created_at = Moment(required=True)
    completed_at = Moment(required=True, allow_none=True)


class RecoverRequest(PlainSchema):
    """Which latest deliveries to send anew; every one that ended in vain when all is left out."""

    since = Moment(metadata={"description": "Made at this moment or later."})
    until = Moment(metadata={"description": "Made before this moment."})
    status = Choice(_RECOVERABLE)


class RecoveredSchema(PlainSchema):
    """How many deliveries were made."""

    count = Whole(required=True)


class EventTypeSchema(PlainSchema):
    """One type of the catalogue."""

    event = Choice(_TYPES, required=True)
    description = fields.String(required=True)
    schema: Any = fields.Dict(
        required=True, metadata={"description": "JSON Schema (2020-12) of the whole body."}
    )
    example = fields.Dict(required=True)
