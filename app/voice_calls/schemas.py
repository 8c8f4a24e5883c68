"""Shapes of voice calls (contract B9)."""

from marshmallow import fields

from app.evaluations.enums import DIRECTIONS
from app.voice_calls.vocabulary import ENDED_BY, OUTCOMES, CallStatus, EpaStatus
from app.web.fields import Choice, Moment, Nested, Reference, Text
from app.web.pagination import PeriodQuery, sort_field
from app.web.query_fields import Choices, QueryFlag
from app.web.shapes import CamelSchema


class VoiceCallQuery(PeriodQuery):
    """The filters of the list of voice calls; `from` and `to` bound startedAt."""

    engagement_id = Reference("eng")
    campaign_id = Reference("camp")
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    bot_id = Text(200, low=1)
    direction = Choices(DIRECTIONS)
    status = Choices(list(CallStatus))
    outcome = Choices(OUTCOMES)
    has_recording = QueryFlag()
    transferred_to_human = QueryFlag()
    q = Text(
        200,
        low=1,
        metadata={"description": "Part of the externalId, botId, botName or endReason."},
    )
    sort = sort_field("startedAt", "createdAt", "durationSeconds", "score")


class LatencySchema(CamelSchema):
    """How long the caller waited for the bot, in milliseconds; `count` answers were measured."""

    p50 = fields.Float(required=True, allow_none=True)
    p90 = fields.Float(required=True, allow_none=True)
    p95 = fields.Float(required=True, allow_none=True)
    max = fields.Float(required=True, allow_none=True)
    count = fields.Integer(required=True, allow_none=True)


class VoiceCallSchema(CamelSchema):
    """A voice call as it is shown."""

    id = fields.String(required=True, metadata={"example": "call_01k9zq5b9hf3ktr6c0wnxs2v7e"})
    external_id = fields.String(required=True, allow_none=True)
    engagement_id = fields.String(required=True, allow_none=True)
    campaign_id = fields.String(required=True, allow_none=True)
    call_center_id = fields.String(required=True, allow_none=True)
    executive_id = fields.String(required=True, allow_none=True)
    bot_id = fields.String(required=True, allow_none=True)
    bot_name = fields.String(required=True, allow_none=True)
    bot_version = fields.String(required=True, allow_none=True)
    direction = Choice(DIRECTIONS, required=True)
    from_number = fields.String(
        required=True, allow_none=True, metadata={"description": "Masked but for the last two."}
    )
    to_number = fields.String(
        required=True, allow_none=True, metadata={"description": "Masked but for the last two."}
    )
    status = Choice(list(CallStatus), required=True)
    end_reason = fields.String(required=True, allow_none=True)
    ended_by = Choice(ENDED_BY, required=True, allow_none=True)
    started_at = Moment(required=True, allow_none=True)
    answered_at = Moment(required=True, allow_none=True)
    ended_at = Moment(required=True, allow_none=True)
    duration_seconds = fields.Integer(required=True, allow_none=True)
    ring_seconds = fields.Integer(required=True, allow_none=True)
    language = fields.String(required=True, allow_none=True)
    has_recording = fields.Boolean(required=True)
    has_transcript = fields.Boolean(required=True)
    outcome = Choice(OUTCOMES, required=True)
    transferred_to_human = fields.Boolean(required=True)
    latency_ms = Nested(LatencySchema, required=True, allow_none=True)
    interruptions_by_customer = fields.Integer(required=True, allow_none=True)
    interruptions_by_bot = fields.Integer(required=True, allow_none=True)
    fallback_count = fields.Integer(required=True, allow_none=True)
    collected_fields = fields.Dict(keys=fields.String(), required=True)
    evaluation_id = fields.String(required=True, allow_none=True)
    score = fields.Integer(required=True, allow_none=True)
    epa_status = Choice(list(EpaStatus), required=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    created_at = Moment(required=True)
    updated_at = Moment(required=True)


class RecordingSchema(CamelSchema):
    """A signed link to the recording; it needs no key."""

    voice_call_id = fields.String(required=True)
    recording_url = fields.String(required=True, metadata={"format": "uri"})
    expires_at = Moment(required=True)
    content_type = fields.String(required=True)
    channels = fields.Integer(required=True, allow_none=True)
    duration_seconds = fields.Integer(required=True, allow_none=True)
    redacted = fields.Boolean(required=True)
