"""Schemas of voice calls and their performance assessments."""

from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.evaluations.enums import DIRECTIONS, MAX_MESSAGES
from app.evaluations.schemas.contacts import CampaignReference, ContactUpsert
from app.evaluations.schemas.results import AdviceSchema, EngineSchema
from app.evaluations.schemas.transcripts import EvidenceSchema
from app.voice_calls.enums import (
    ENDED_BY,
    OUTCOMES,
    ROLES,
    SPOKEN_CHANNELS,
    CallStatus,
    EpaStatus,
)
from app.web.schemas.base import TYPE, AnswerSchema, CamelSchema, CodedMessage, about
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    Nested,
    Number,
    PastMoment,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import Choices, PeriodQuery, QueryFlag, sort_field
from app.web.schemas.records import PlainValues, SpokenText, require_order

_MAX_S = 7 * 86_400
_MAX_MS = 1000 * _MAX_S
_MAX_WORDS = 10_000
_PHONE_NUMBER = r"[0-9A-Za-z+#*()@.:;=_ -]{1,64}"


class VoiceCallQuery(PeriodQuery):
    """Query of the list of voice calls; `from` and `to` bound conversationAt."""

    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    bot_id = Text(200, low=1)
    direction = Choices(DIRECTIONS)
    status = Choices(list(CallStatus))
    outcome = Choices(OUTCOMES)
    has_recording = QueryFlag()
    transferred_to_human = QueryFlag()
    q = Text(200, low=1, **about("Part of the externalId, botId, botName or endReason."))
    sort = sort_field(
        "conversationAt",
        "startedAt",
        "createdAt",
        "durationSeconds",
        "score",
        default="-conversationAt",
    )


class LatencySchema(AnswerSchema):
    """Time until the bot answers, in milliseconds; `count` is the number of measured answers."""

    p50 = fields.Float(allow_none=True)
    p90 = fields.Float(allow_none=True)
    p95 = fields.Float(allow_none=True)
    max = fields.Float(allow_none=True)
    count = fields.Integer(allow_none=True)


class VoiceCallSchema(AnswerSchema):
    """A call of a voice bot, or a call of people from another system."""

    id = fields.String(metadata={"example": "call_01k9zq5b9hf3ktr6c0wnxs2v7e"})
    external_id = fields.String(allow_none=True)
    engagement_id = fields.String(allow_none=True)
    campaign_id = fields.String(allow_none=True)
    call_center_id = fields.String(allow_none=True)
    executive_id = fields.String(allow_none=True)
    bot_id = fields.String(allow_none=True)
    bot_name = fields.String(allow_none=True)
    bot_version = fields.String(allow_none=True)
    channel = Choice(SPOKEN_CHANNELS)
    direction = Choice(DIRECTIONS)
    from_number = fields.String(allow_none=True, **about("Only the last two digits are shown."))
    to_number = fields.String(allow_none=True, **about("Only the last two digits are shown."))
    status = Choice(list(CallStatus))
    end_reason = fields.String(allow_none=True)
    ended_by = Choice(ENDED_BY, allow_none=True)
    started_at = Timestamp(allow_none=True)
    answered_at = Timestamp(allow_none=True)
    ended_at = Timestamp(allow_none=True)
    duration_seconds = fields.Integer(allow_none=True)
    ring_seconds = fields.Integer(allow_none=True)
    language = fields.String(allow_none=True)
    has_recording = fields.Boolean()
    has_transcript = fields.Boolean()
    outcome = Choice(OUTCOMES)
    transferred_to_human = fields.Boolean()
    latency_ms = Nested(LatencySchema, allow_none=True)
    interruptions_by_customer = fields.Integer(allow_none=True)
    interruptions_by_bot = fields.Integer(allow_none=True)
    fallback_count = fields.Integer(allow_none=True)
    collected_fields = fields.Dict(keys=fields.String())
    evaluation_id = fields.String(allow_none=True)
    score = fields.Integer(allow_none=True)
    epa_status = Choice(list(EpaStatus))
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    conversation_at = Timestamp()
    created_at = Timestamp()
    updated_at = Timestamp()


class RecordingSchema(AnswerSchema):
    """A signed link to the recording, usable without an API key."""

    voice_call_id = fields.String()
    recording_url = fields.String(metadata={"format": "uri"})
    expires_at = Timestamp()
    content_type = fields.String()
    channels = fields.Integer(allow_none=True)
    duration_seconds = fields.Integer(allow_none=True)
    redacted = fields.Boolean()


class EpaSubjectSchema(AnswerSchema):
    """The person or bot whose performance is assessed."""

    kind = Choice(("human", "bot"))
    executive_id = fields.String(allow_none=True)
    bot_id = fields.String(allow_none=True)
    name = fields.String(allow_none=True)


class EpaDimensionSchema(AnswerSchema):
    """A dimension of performance from 0 to 100; null if none of its criteria was judged."""

    key = fields.String()
    title = fields.String()
    weight = fields.Float(**about("Part of the scorecard's total weight of 100."))
    score = fields.Float(allow_none=True)
    explanation = fields.String(allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema))


class EpaLatencySchema(AnswerSchema):
    """Time until an answer, in milliseconds."""

    p50 = fields.Float(allow_none=True)
    p90 = fields.Float(allow_none=True)


class EpaDeliverySchema(AnswerSchema):
    """Speaking style, from the metrics of the evaluation; null if not measured."""

    agent_wpm = fields.Float(allow_none=True)
    pitch_variation = fields.Float(allow_none=True)
    energy = fields.Float(allow_none=True)
    filler_per_minute = fields.Float(allow_none=True)
    response_latency_ms = Nested(EpaLatencySchema)
    interruptions = fields.Integer(allow_none=True)
    talk_ratio = fields.Float(allow_none=True)
    silence_percent = fields.Float(allow_none=True)


class EpaOutcomeSchema(AnswerSchema):
    """Outcome of the call as given by the source, or else as judged."""

    goal = fields.String(allow_none=True)
    met = fields.Boolean(allow_none=True)
    confidence = fields.Float(allow_none=True)
    details = fields.Dict(data_key="fields", keys=fields.String())


class ComplianceFlagSchema(AnswerSchema):
    criterion_key = fields.String()
    title = fields.String()
    severity = Choice(("warn", "critical"))
    explanation = fields.String(allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema))


class EpaBenchmarkSchema(AnswerSchema):
    """Mean scores of the same subject and campaign; `percentile` is within the campaign."""

    executive_mean = fields.Float(allow_none=True)
    campaign_mean = fields.Float(allow_none=True)
    percentile = fields.Float(allow_none=True)


class EpaSchema(AnswerSchema):
    """Performance assessment of the agent side of a call, derived from its evaluation."""

    voice_call_id = fields.String()
    status = Choice(list(EpaStatus))
    subject = Nested(EpaSubjectSchema)
    overall_score = fields.Integer(allow_none=True)
    grade = Choice(("A", "B", "C", "D", "E"), allow_none=True)
    dimensions = fields.List(Nested(EpaDimensionSchema))
    delivery = Nested(EpaDeliverySchema)
    outcome = Nested(EpaOutcomeSchema)
    compliance_flags = fields.List(Nested(ComplianceFlagSchema))
    strengths = fields.List(Nested(AdviceSchema))
    improvements = fields.List(Nested(AdviceSchema))
    benchmark = Nested(EpaBenchmarkSchema)
    evaluation_id = fields.String(allow_none=True)
    scorecard_id = fields.String(allow_none=True)
    scorecard_version = fields.Integer(allow_none=True)
    engine = Nested(EngineSchema, allow_none=True)
    generated_at = Timestamp(allow_none=True)


class SpokenWord(CamelSchema):
    """A word of a turn; times are milliseconds from the start of the call."""

    text = SpokenText(200, required=True)
    start_ms = Whole(high=_MAX_MS, required=True)
    end_ms = Whole(high=_MAX_MS, required=True)
    confidence = Number(low=0, high=1, allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "start_ms", "end_ms")


class TurnUpsert(CamelSchema):
    """A turn of the call; times are milliseconds from its start."""

    role = Choice(ROLES, required=True)
    text = SpokenText(20_000, required=True)
    start_ms = Whole(high=_MAX_MS, allow_none=True, load_default=None)
    end_ms = Whole(high=_MAX_MS, allow_none=True, load_default=None)
    words = Items(
        Nested(SpokenWord),
        high=_MAX_WORDS,
        **about("The words of the text, in order: metrics of speech need them."),
    )

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "start_ms", "end_ms")


class RecordingUpsert(CamelSchema):
    """The recording of a call, already uploaded."""

    audio_file_id = Reference("aud", required=True)


class LatencyUpsert(CamelSchema):
    """Percentiles of the bot's response times in milliseconds."""

    p50 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    p90 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    p95 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    max = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    count = Whole(allow_none=True, load_default=None)


_PERCENTILES = LatencyUpsert()
_SAMPLES = Items(Number(low=0, high=_MAX_MS), high=MAX_MESSAGES)


class Latency(fields.Raw):
    """Percentiles, or a list of measured values."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            return _PERCENTILES.load(value)
        if isinstance(value, list):
            return _SAMPLES.deserialize(value)
        message = "This must be an object of percentiles or a list of numbers."
        raise ValidationError(CodedMessage(TYPE, message))


class VoiceCallUpsert(ContactUpsert):
    status = Choice(list(CallStatus), required=True)
    channel = Choice(
        SPOKEN_CHANNELS,
        allow_none=True,
        load_default=None,
        **about(
            "`voice` for a call of people, by default if a turn is an agent's and none a bot's."
        ),
    )
    answered_at = PastMoment(allow_none=True, load_default=None)
    duration_seconds = Whole(high=_MAX_S, allow_none=True, load_default=None)
    direction = Choice(DIRECTIONS, load_default="unknown")
    from_number = Pattern(
        _PHONE_NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
    )
    to_number = Pattern(
        _PHONE_NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
    )
    bot_id = Text(200, low=1, allow_none=True, load_default=None)
    bot_name = Text(200, low=1, allow_none=True, load_default=None)
    bot_version = Text(64, allow_none=True, load_default=None)
    end_reason = Text(200, allow_none=True, load_default=None)
    ended_by = Choice(ENDED_BY, allow_none=True, load_default=None)
    outcome = Choice(OUTCOMES, load_default="unknown")
    transferred_to_human = Flag(load_default=False)
    latency_ms = Latency(
        allow_none=True,
        load_default=None,
        **about("Percentiles `{p50, p90, p95, max, count}`, or a list of measured values."),
    )
    fallback_count = Whole(allow_none=True, load_default=None)
    collected_fields = PlainValues(load_default=dict)
    turns = Items(Nested(TurnUpsert), high=MAX_MESSAGES, load_default=list)
    recording = Nested(RecordingUpsert, allow_none=True, load_default=None)

    @validates_schema
    def _check_answer(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "answered_at")
        require_order(data, "answered_at", "ended_at")

    @post_load
    def _flatten_recording(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Replace the recording by its id, as in the table."""
        recording = data.pop("recording")
        recording_id = recording["audio_file_id"] if recording else None
        return {**data, "recording_id": recording_id}
