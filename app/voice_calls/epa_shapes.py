"""The shape of the assessment of a call's agent side (contract B9)."""

from marshmallow import fields

from app.evaluations.schemas.evidence import EvidenceSchema
from app.evaluations.schemas.results import AdviceSchema, EngineSchema
from app.voice_calls.vocabulary import EpaStatus
from app.web.fields import Choice, Moment, Nested
from app.web.shapes import CamelSchema


class EpaSubjectSchema(CamelSchema):
    """Whose performance it is."""

    kind = Choice(("human", "bot"), required=True)
    executive_id = fields.String(required=True, allow_none=True)
    bot_id = fields.String(required=True, allow_none=True)
    name = fields.String(required=True, allow_none=True)


class EpaDimensionSchema(CamelSchema):
    """One side of the performance, 0 to 100; null where nothing of it was judged."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    weight = fields.Float(required=True, metadata={"description": "Of the scorecard's 100."})
    score = fields.Float(required=True, allow_none=True)
    explanation = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class EpaLatencySchema(CamelSchema):
    """How long the caller waited for an answer, in milliseconds."""

    p50 = fields.Float(required=True, allow_none=True)
    p90 = fields.Float(required=True, allow_none=True)


class EpaDeliverySchema(CamelSchema):
    """How it was said, from the metrics of the evaluation; null where it was not measured."""

    agent_wpm = fields.Float(required=True, allow_none=True)
    pitch_variation = fields.Float(required=True, allow_none=True)
    energy = fields.Float(required=True, allow_none=True)
    filler_per_minute = fields.Float(required=True, allow_none=True)
    response_latency_ms = Nested(EpaLatencySchema, required=True)
    interruptions = fields.Integer(required=True, allow_none=True)
    talk_ratio = fields.Float(required=True, allow_none=True)
    silence_percent = fields.Float(required=True, allow_none=True)


class EpaOutcomeSchema(CamelSchema):
    """What came of the call, as the source tells it, else as it was judged."""

    goal = fields.String(required=True, allow_none=True)
    met = fields.Boolean(required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)
    details = fields.Dict(data_key="fields", keys=fields.String(), required=True)


class ComplianceFlagSchema(CamelSchema):
    """A rule that was broken."""

    criterion_key = fields.String(required=True)
    title = fields.String(required=True)
    severity = Choice(("warn", "critical"), required=True)
    explanation = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class EpaBenchmarkSchema(CamelSchema):
    """The same subject's and the campaign's other calls; `percentile` is within the campaign."""

    executive_mean = fields.Float(required=True, allow_none=True)
    campaign_mean = fields.Float(required=True, allow_none=True)
    percentile = fields.Float(required=True, allow_none=True)


class EpaSchema(CamelSchema):
    """How the agent side of this call performed: a view over its evaluation."""

    voice_call_id = fields.String(required=True)
    status = Choice(list(EpaStatus), required=True)
    subject = Nested(EpaSubjectSchema, required=True)
    overall_score = fields.Integer(required=True, allow_none=True)
    grade = Choice(("A", "B", "C", "D", "E"), required=True, allow_none=True)
    dimensions = fields.List(Nested(EpaDimensionSchema), required=True)
    delivery = Nested(EpaDeliverySchema, required=True)
    outcome = Nested(EpaOutcomeSchema, required=True)
    compliance_flags = fields.List(Nested(ComplianceFlagSchema), required=True)
    strengths = fields.List(Nested(AdviceSchema), required=True)
    improvements = fields.List(Nested(AdviceSchema), required=True)
    benchmark = Nested(EpaBenchmarkSchema, required=True)
    evaluation_id = fields.String(required=True, allow_none=True)
    scorecard_id = fields.String(required=True, allow_none=True)
    scorecard_version = fields.Integer(required=True, allow_none=True)
    engine = Nested(EngineSchema, required=True, allow_none=True)
    generated_at = Moment(required=True, allow_none=True)
