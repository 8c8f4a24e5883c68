"""Schemas of the results of an evaluation; they are stored in this form."""

from marshmallow import fields

from app.evaluations.enums import BANDS, RESOLUTIONS, ROLES, TRENDS, Status
from app.evaluations.schemas.evidence import EvidenceSchema
from app.evaluations.schemas.quality import QualitySchema
from app.evaluations.schemas.reviews import OriginalAnswerSchema, ReviewSchema
from app.web.schemas.base import StoredSchema
from app.web.schemas.fields import Choice, Nested, Timestamp


class AutoFailSchema(StoredSchema):
    """Whether a criterion failed the whole evaluation or sections of it."""

    triggered = fields.Boolean(required=True)
    scope = Choice(("section", "evaluation"), required=True, allow_none=True)
    criteria = fields.List(fields.String(), required=True)


class ScorecardReferenceSchema(StoredSchema):
    """The scorecard of an evaluation, with its version."""

    id = fields.String(required=True)
    version = fields.Integer(required=True)
    name = fields.String(required=True)


class EngineSchema(StoredSchema):
    """The engine that judged."""

    kind = Choice(("rules", "model", "hybrid"), required=True)
    provider = fields.String(required=True, allow_none=True)
    model = fields.String(required=True, allow_none=True)
    prompt_version = fields.String(required=True, allow_none=True)


class SectionSchema(StoredSchema):
    """The score of one section, 0 to 100; null where no criterion applied."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    weight = fields.Float(required=True)
    score = fields.Float(required=True, allow_none=True)
    raw_score = fields.Float(required=True, allow_none=True)
    applicable = fields.Boolean(required=True)
    auto_failed = fields.Boolean(required=True)
    criteria_count = fields.Integer(required=True)


class CriterionSchema(StoredSchema):
    """The answer to one criterion of the scorecard."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    section = fields.String(required=True)
    question = fields.String(required=True)
    type = Choice(("binary", "scale", "metric"), required=True)
    weight = fields.Float(required=True)
    criticality = Choice(("none", "section", "evaluation"), required=True)
    error_class = Choice(("customer", "business", "compliance", "none"), required=True)
    applicable = fields.Boolean(required=True)
    not_judged = fields.Boolean(
        metadata={
            "description": "True where the criterion may apply but the judge could not tell; such a "
            "criterion lowers the coverage, one that does not apply does not."
        }
    )
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    points = fields.Float(required=True, allow_none=True)
    max_points = fields.Float(required=True)
    explanation = fields.String(required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)
    judged_by = Choice(("rule", "metric", "model", "human"), required=True, allow_none=True)
    failure = Choice(
        ("low_confidence", "invalid_output", "insufficient_content", "engine_error"),
        required=True,
        allow_none=True,
    )
    evidence = fields.List(Nested(EvidenceSchema), required=True)
    suggestion = fields.String(required=True, allow_none=True)
    original = Nested(OriginalAnswerSchema, required=True, allow_none=True)


class DimensionsSchema(StoredSchema):
    """Seven dimensions of quality, 0 to 1 (1 is good) or null."""

    resolution = fields.Float(required=True, allow_none=True)
    effort = fields.Float(required=True, allow_none=True)
    customer_sentiment = fields.Float(required=True, allow_none=True)
    professionalism = fields.Float(required=True, allow_none=True)
    responsiveness = fields.Float(required=True, allow_none=True)
    procedure = fields.Float(required=True, allow_none=True)
    policy_compliance = fields.Float(required=True, allow_none=True)


class MissingMetricSchema(StoredSchema):
    """The reason why a metric is null."""

    metric = fields.String(required=True)
    reason = fields.String(required=True)


class SideSentimentSchema(StoredSchema):
    """The sentiment of one side, -1 to 1."""

    overall = fields.Float(required=True, allow_none=True)
    by_quarter = fields.List(fields.Float(allow_none=True), required=True)
    begin = fields.Float(required=True, allow_none=True)
    end = fields.Float(required=True, allow_none=True)
    shift = fields.Float(required=True, allow_none=True)
    trend = Choice(TRENDS, required=True)


class SentimentPointSchema(StoredSchema):
    """The sentiment of one segment."""

    segment_id = fields.String(required=True)
    at_ms = fields.Integer(required=True, allow_none=True)
    role = Choice(ROLES, required=True)
    score = fields.Float(required=True)


class SentimentSchema(StoredSchema):
    """The sentiment of both sides, over time."""

    customer = Nested(SideSentimentSchema, required=True)
    agent = Nested(SideSentimentSchema, required=True)
    timeline = fields.List(Nested(SentimentPointSchema), required=True)


class ResolutionSchema(StoredSchema):
    """Whether the customer's issue was resolved."""

    status = Choice(RESOLUTIONS, required=True)
    probability = fields.Float(required=True, allow_none=True)
    explanation = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)
    follow_up_promised = fields.Boolean(required=True, allow_none=True)
    escalated = fields.Boolean(required=True, allow_none=True)


class SummarySchema(StoredSchema):
    """A short summary of the conversation."""

    overview = fields.String(required=True, allow_none=True)
    issue = fields.String(required=True, allow_none=True)
    outcome = fields.String(required=True, allow_none=True)
    action_items = fields.List(fields.String(), required=True)


class MomentSchema(StoredSchema):
    """A moment worth listening to."""

    type = Choice(
        (
            "interruption",
            "dead_air",
            "long_hold",
            "escalation_request",
            "complaint",
            "commitment",
            "compliance_disclosure",
            "opt_out",
            "profanity",
            "rudeness",
            "danger",
            "overlap",
            "instruction_in_transcript",
        ),
        required=True,
    )
    start_ms = fields.Integer(required=True, allow_none=True)
    end_ms = fields.Integer(required=True, allow_none=True)
    segment_id = fields.String(required=True, allow_none=True)
    role = Choice(ROLES, required=True, allow_none=True)
    severity = Choice(("info", "warn", "critical"), required=True)
    label = fields.String(required=True)


class AdviceSchema(StoredSchema):
    """One strength or one improvement."""

    text = fields.String(required=True)
    criterion_key = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class CoachingSchema(StoredSchema):
    """Strengths and improvements for the agent."""

    strengths = fields.List(Nested(AdviceSchema), required=True)
    improvements = fields.List(Nested(AdviceSchema), required=True)


class ResultsSchema(StoredSchema):
    """The results of an evaluation; objects are null and lists empty until it is completed."""

    evaluation_id = fields.String(required=True)
    status = Choice(list(Status), required=True)
    score = fields.Integer(required=True, allow_none=True)
    raw_score = fields.Float(required=True, allow_none=True)
    max_score = fields.Integer(required=True)
    compliance_score = fields.Float(required=True, allow_none=True)
    coverage = fields.Float(
        required=True,
        allow_none=True,
        metadata={
            "description": "The share, 0 to 1, that was judged of the weight of the criteria that apply."
        },
    )
    no_verdict_reason = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Why there is a score but no band, and neither pass nor fail."},
    )
    band = Choice(BANDS, required=True, allow_none=True)
    passed = fields.Boolean(required=True, allow_none=True)
    pass_threshold = fields.Integer(required=True, allow_none=True)
    auto_fail = Nested(AutoFailSchema, required=True, allow_none=True)
    scorecard = Nested(ScorecardReferenceSchema, required=True)
    engine = Nested(EngineSchema, required=True, allow_none=True)
    generated_at = Timestamp(required=True, allow_none=True)
    revision = fields.Integer(required=True)
    sections = fields.List(Nested(SectionSchema), required=True)
    criteria = fields.List(Nested(CriterionSchema), required=True)
    dimensions = Nested(DimensionsSchema, required=True, allow_none=True)
    metrics = fields.Dict(
        keys=fields.String(),
        values=fields.Float(allow_none=True),
        required=True,
        metadata={"description": "A number or null by name; metricsMissing tells why null."},
    )
    metrics_missing = fields.List(Nested(MissingMetricSchema), required=True)
    sentiment = Nested(SentimentSchema, required=True, allow_none=True)
    topics = fields.List(fields.String(), required=True)
    resolution = Nested(ResolutionSchema, required=True, allow_none=True)
    summary = Nested(SummarySchema, required=True, allow_none=True)
    moments = fields.List(Nested(MomentSchema), required=True)
    coaching = Nested(CoachingSchema, required=True, allow_none=True)
    quality = Nested(QualitySchema, required=True, allow_none=True)
    reviews = fields.List(Nested(ReviewSchema), required=True)
