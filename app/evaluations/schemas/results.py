"""Schemas of the results of an evaluation and of its reviews; they are stored in this form."""

from marshmallow import fields

from app.core.outgoing_http.model_server import Reason
from app.evaluations.enums import (
    BANDS,
    JUDGED_BY,
    MOMENT_TYPES,
    RESOLUTIONS,
    REVIEW_ACTIONS,
    ROLES,
    TRENDS,
    ReviewStatus,
    Status,
)
from app.evaluations.schemas.transcripts import EvidenceSchema
from app.judge.language_model.asking import FORMS
from app.judge.scorecard.schema import CRITICALITIES, ERROR_CLASSES, TYPES
from app.web.schemas.base import StoredSchema
from app.web.schemas.fields import Choice, Nested, Timestamp


class OriginalAnswerSchema(StoredSchema):
    """The judge's answer before a reviewer changed it."""

    applicable = fields.Boolean(required=True)
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    judged_by = Choice(("rule", "metric", "model"), required=True, allow_none=True)
    explanation = fields.String(required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)


class ReviewedCriterionSchema(StoredSchema):
    key = fields.String(required=True)
    applicable = fields.Boolean(required=True)
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    reason = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class ReviewSchema(StoredSchema):
    """One review; it never changes."""

    id = fields.String(required=True, metadata={"example": "rev_01k9zq4v2me8wb7xq3s5ndt6ha"})
    evaluation_id = fields.String(required=True)
    revision = fields.Integer(required=True)
    action = Choice(REVIEW_ACTIONS, required=True)
    reviewer = fields.String(required=True, metadata={"example": "Nora Field"})
    reviewer_ref = fields.String(
        required=True, allow_none=True, metadata={"example": "qa-nora", "description": "Your id."}
    )
    addressee_id = fields.String(
        allow_none=True,
        metadata={
            "description": "Account that a dispute is addressed to; null: any lead of the team."
        },
    )
    reason = fields.String(required=True, allow_none=True)
    criteria = fields.List(Nested(ReviewedCriterionSchema), required=True)
    confirms_others = fields.Boolean(required=True)
    score = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "The reviewer's own overall score, 0 to 100: a label."},
    )
    resolution = Choice(RESOLUTIONS, required=True, allow_none=True)
    satisfaction = fields.Float(required=True, allow_none=True)
    status_before = Choice(list(ReviewStatus), required=True)
    status_after = Choice(list(ReviewStatus), required=True)
    score_before = fields.Integer(required=True)
    score_after = fields.Integer(required=True)
    created_at = fields.String(required=True, metadata={"format": "date-time"})
    sealed = fields.Boolean(
        metadata={
            "description": "Its answers are left out until its calibration round is complete."
        }
    )


class CalibrationNoteSchema(StoredSchema):
    """The calibration profile of the score, or the reason why it was not applied."""

    profile_id = fields.String(required=True)
    version = fields.Integer(required=True)
    applied = fields.Boolean(required=True)
    reason = fields.String(
        required=True, allow_none=True, metadata={"description": "Why it was not applied."}
    )
    scorecard_score = fields.Integer(
        required=True, metadata={"description": "The score that the scorecard alone gives."}
    )


class FallbackSchema(StoredSchema):
    """The reason why the rules judged without the language model."""

    reason = Choice(list(Reason), required=True)
    message = fields.String(required=True)


class ModelUseSchema(StoredSchema):
    returned_model = fields.String(required=True, allow_none=True)
    request_id = fields.String(required=True, allow_none=True)
    prompt_tokens = fields.Integer(required=True, allow_none=True)
    answer_tokens = fields.Integer(required=True, allow_none=True)
    latency_ms = fields.Integer(required=True)
    repairs = fields.Integer(
        required=True,
        metadata={"description": "Requests to correct the form of an answer."},
    )
    answer_form = Choice(FORMS, required=True, allow_none=True)
    cached = fields.Boolean(
        required=True, metadata={"description": "Whether the same question was answered before."}
    )
    messages_omitted = fields.Integer(
        required=True, metadata={"description": "Messages left out of the middle of the prompt."}
    )
    messages_shortened = fields.Integer(
        required=True, metadata={"description": "Messages of which the model saw only the start."}
    )
    masked_count = fields.Integer(
        required=True, metadata={"description": "Stretches that were masked before sending."}
    )
    model_score = fields.Integer(required=True, allow_none=True)
    embedded_score = fields.Integer(required=True, allow_none=True)


class QualitySchema(StoredSchema):
    unverified_evidence_count = fields.Integer(required=True)
    model_calls = fields.Integer(
        required=True, metadata={"description": "Requests sent to a language model, in total."}
    )
    retries = fields.Integer(required=True)
    cost_estimate = fields.Float(required=True, allow_none=True)
    fallback = Nested(
        FallbackSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null if the configured judge has judged."},
    )
    model = Nested(
        ModelUseSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null if no language model was needed."},
    )
    calibration = Nested(
        CalibrationNoteSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null where no profile was active, or people have overridden."},
    )


class AutoFailSchema(StoredSchema):
    """Automatic failure of the whole evaluation, or of sections of it."""

    triggered = fields.Boolean(required=True)
    scope = Choice(("section", "pass", "evaluation"), required=True, allow_none=True)
    criteria = fields.List(fields.String(), required=True)


class ScorecardReferenceSchema(StoredSchema):
    """The scorecard of an evaluation, with its version."""

    id = fields.String(required=True)
    version = fields.Integer(required=True)
    name = fields.String(required=True)


class EngineSchema(StoredSchema):
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
    key = fields.String(required=True)
    title = fields.String(required=True)
    section = fields.String(required=True)
    question = fields.String(required=True)
    type = Choice(TYPES, required=True)
    weight = fields.Float(required=True)
    criticality = Choice(CRITICALITIES, required=True)
    error_class = Choice(ERROR_CLASSES, required=True)
    applicable = fields.Boolean(required=True)
    not_judged = fields.Boolean(
        metadata={
            "description": "True where it may apply but the judge could not tell; without an "
            "`estimate` it lowers the coverage, unlike one that does not apply."
        }
    )
    estimate = fields.Float(
        allow_none=True, metadata={"description": "What the score counts of what was not judged."}
    )
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    points = fields.Float(required=True, allow_none=True)
    max_points = fields.Float(required=True)
    explanation = fields.String(required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)
    judged_by = Choice(JUDGED_BY, required=True, allow_none=True)
    failure = Choice(
        ("low_confidence", "invalid_output", "insufficient_content", "engine_error"),
        required=True,
        allow_none=True,
    )
    evidence = fields.List(Nested(EvidenceSchema), required=True)
    suggestion = fields.String(required=True, allow_none=True)
    original = Nested(OriginalAnswerSchema, required=True, allow_none=True)
    otherwise = Nested(
        OriginalAnswerSchema, metadata={"description": "A differing answer that does not count."}
    )


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
    segment_id = fields.String(required=True)
    at_ms = fields.Integer(required=True, allow_none=True)
    role = Choice(ROLES, required=True)
    score = fields.Float(required=True)


class SentimentSchema(StoredSchema):
    """The sentiment of both sides, over time."""

    customer = Nested(SideSentimentSchema, required=True)
    agent = Nested(SideSentimentSchema, required=True)
    timeline = fields.List(Nested(SentimentPointSchema), required=True)


class OtherResolutionSchema(StoredSchema):
    """The outcome as the other judge has read it."""

    status = Choice(RESOLUTIONS, required=True)
    explanation = fields.String(required=True, allow_none=True)
    judged_by = Choice(("rule", "model"), required=True)


class ResolutionSchema(StoredSchema):
    status = Choice(RESOLUTIONS, required=True)
    probability = fields.Float(required=True, allow_none=True)
    explanation = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)
    follow_up_promised = fields.Boolean(required=True, allow_none=True)
    escalated = fields.Boolean(required=True, allow_none=True)
    otherwise = Nested(
        OtherResolutionSchema, metadata={"description": "Only where rules and model differ."}
    )


class SummarySchema(StoredSchema):
    overview = fields.String(required=True, allow_none=True)
    issue = fields.String(required=True, allow_none=True)
    outcome = fields.String(required=True, allow_none=True)
    action_items = fields.List(fields.String(), required=True)


class MomentSchema(StoredSchema):
    type = Choice(MOMENT_TYPES, required=True)
    start_ms = fields.Integer(required=True, allow_none=True)
    end_ms = fields.Integer(required=True, allow_none=True)
    segment_id = fields.String(required=True, allow_none=True)
    role = Choice(ROLES, required=True, allow_none=True)
    severity = Choice(("info", "warn", "critical"), required=True)
    label = fields.String(required=True)


class AdviceSchema(StoredSchema):
    text = fields.String(required=True)
    criterion_key = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class CoachingSchema(StoredSchema):
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
    compliance_checked = fields.List(
        fields.String(), metadata={"description": "The criteria on which that score rests."}
    )
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
    metrics_uncertain = fields.List(fields.String(), required=True)
    sentiment = Nested(SentimentSchema, required=True, allow_none=True)
    topics = fields.List(fields.String(), required=True)
    resolution = Nested(ResolutionSchema, required=True, allow_none=True)
    summary = Nested(SummarySchema, required=True, allow_none=True)
    moments = fields.List(Nested(MomentSchema), required=True)
    coaching = Nested(CoachingSchema, required=True, allow_none=True)
    quality = Nested(QualitySchema, required=True, allow_none=True)
    reviews = fields.List(Nested(ReviewSchema), required=True)
