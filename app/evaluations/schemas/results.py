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
from app.web.schemas.base import StoredAnswerSchema, about
from app.web.schemas.fields import Choice, Nested, Timestamp


class OriginalAnswerSchema(StoredAnswerSchema):
    """The judge's answer before a reviewer changed it."""

    applicable = fields.Boolean()
    answer = fields.Raw(allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(allow_none=True)
    judged_by = Choice(("rule", "metric", "model"), allow_none=True)
    explanation = fields.String(allow_none=True)
    confidence = fields.Float(allow_none=True)


class ReviewedCriterionSchema(StoredAnswerSchema):
    key = fields.String()
    applicable = fields.Boolean()
    answer = fields.Raw(allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(allow_none=True)
    reason = fields.String(allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema))


class ReviewSchema(StoredAnswerSchema):
    """One review; it never changes."""

    sometimes = frozenset({"addressee_id", "sealed"})

    id = fields.String(metadata={"example": "rev_01k9zq4v2me8wb7xq3s5ndt6ha"})
    evaluation_id = fields.String()
    revision = fields.Integer()
    action = Choice(REVIEW_ACTIONS)
    reviewer = fields.String(metadata={"example": "Nora Field"})
    reviewer_ref = fields.String(allow_none=True, **about("Your id.", example="qa-nora"))
    addressee_id = fields.String(
        allow_none=True,
        **about("Account that a dispute is addressed to; null: any lead of the team."),
    )
    reason = fields.String(allow_none=True)
    criteria = fields.List(Nested(ReviewedCriterionSchema))
    confirms_others = fields.Boolean()
    score = fields.Integer(
        allow_none=True, **about("The reviewer's own overall score, 0 to 100: a label.")
    )
    resolution = Choice(RESOLUTIONS, allow_none=True)
    satisfaction = fields.Float(allow_none=True)
    status_before = Choice(list(ReviewStatus))
    status_after = Choice(list(ReviewStatus))
    score_before = fields.Integer()
    score_after = fields.Integer()
    created_at = fields.String(metadata={"format": "date-time"})
    sealed = fields.Boolean(
        **about("Its answers are left out until its calibration round is complete.")
    )


class CalibrationNoteSchema(StoredAnswerSchema):
    """The calibration profile of the score, or the reason why it was not applied."""

    profile_id = fields.String()
    version = fields.Integer()
    applied = fields.Boolean()
    reason = fields.String(allow_none=True, **about("Why it was not applied."))
    scorecard_score = fields.Integer(**about("The score that the scorecard alone gives."))


class FallbackSchema(StoredAnswerSchema):
    """The reason why the rules judged without the language model."""

    reason = Choice(list(Reason))
    message = fields.String()


class ModelUseSchema(StoredAnswerSchema):
    returned_model = fields.String(allow_none=True)
    request_id = fields.String(allow_none=True)
    prompt_tokens = fields.Integer(allow_none=True)
    answer_tokens = fields.Integer(allow_none=True)
    latency_ms = fields.Integer()
    repairs = fields.Integer(**about("Requests to correct the form of an answer."))
    answer_form = Choice(FORMS, allow_none=True)
    cached = fields.Boolean(**about("Whether the same question was answered before."))
    messages_omitted = fields.Integer(**about("Messages left out of the middle of the prompt."))
    messages_shortened = fields.Integer(**about("Messages of which the model saw only the start."))
    masked_count = fields.Integer(**about("Stretches that were masked before sending."))
    model_score = fields.Integer(allow_none=True)
    embedded_score = fields.Integer(allow_none=True)


class QualitySchema(StoredAnswerSchema):
    unverified_evidence_count = fields.Integer()
    model_calls = fields.Integer(**about("Requests sent to a language model, in total."))
    retries = fields.Integer()
    cost_estimate = fields.Float(allow_none=True)
    fallback = Nested(
        FallbackSchema, allow_none=True, **about("Null if the configured judge has judged.")
    )
    model = Nested(
        ModelUseSchema, allow_none=True, **about("Null if no language model was needed.")
    )
    calibration = Nested(
        CalibrationNoteSchema,
        allow_none=True,
        **about("Null where no profile was active, or people have overridden."),
    )


class AutoFailSchema(StoredAnswerSchema):
    """Automatic failure of the whole evaluation, or of sections of it."""

    triggered = fields.Boolean()
    scope = Choice(("section", "pass", "evaluation"), allow_none=True)
    criteria = fields.List(fields.String())


class ScorecardReferenceSchema(StoredAnswerSchema):
    """The scorecard of an evaluation, with its version."""

    id = fields.String()
    version = fields.Integer()
    name = fields.String()


class EngineSchema(StoredAnswerSchema):
    kind = Choice(("rules", "model", "hybrid"))
    provider = fields.String(allow_none=True)
    model = fields.String(allow_none=True)
    prompt_version = fields.String(allow_none=True)


class SectionSchema(StoredAnswerSchema):
    """The score of one section, 0 to 100; null where no criterion applied."""

    key = fields.String()
    title = fields.String()
    weight = fields.Float()
    score = fields.Float(allow_none=True)
    raw_score = fields.Float(allow_none=True)
    applicable = fields.Boolean()
    auto_failed = fields.Boolean()
    criteria_count = fields.Integer()


class CriterionSchema(StoredAnswerSchema):
    sometimes = frozenset({"not_judged", "estimate", "otherwise"})

    key = fields.String()
    title = fields.String()
    section = fields.String()
    question = fields.String()
    type = Choice(TYPES)
    weight = fields.Float()
    criticality = Choice(CRITICALITIES)
    error_class = Choice(ERROR_CLASSES)
    applicable = fields.Boolean()
    not_judged = fields.Boolean(
        **about(
            "True where it may apply but the judge could not tell; without an "
            "`estimate` it lowers the coverage, unlike one that does not apply."
        )
    )
    estimate = fields.Float(
        allow_none=True, **about("What the score counts of what was not judged.")
    )
    answer = fields.Raw(allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(allow_none=True)
    points = fields.Float(allow_none=True)
    max_points = fields.Float()
    explanation = fields.String(allow_none=True)
    confidence = fields.Float(allow_none=True)
    judged_by = Choice(JUDGED_BY, allow_none=True)
    failure = Choice(
        ("low_confidence", "invalid_output", "insufficient_content", "engine_error"),
        allow_none=True,
    )
    evidence = fields.List(Nested(EvidenceSchema))
    suggestion = fields.String(allow_none=True)
    original = Nested(OriginalAnswerSchema, allow_none=True)
    otherwise = Nested(OriginalAnswerSchema, **about("A differing answer that does not count."))


class DimensionsSchema(StoredAnswerSchema):
    """Seven dimensions of quality, 0 to 1 (1 is good) or null."""

    resolution = fields.Float(allow_none=True)
    effort = fields.Float(allow_none=True)
    customer_sentiment = fields.Float(allow_none=True)
    professionalism = fields.Float(allow_none=True)
    responsiveness = fields.Float(allow_none=True)
    procedure = fields.Float(allow_none=True)
    policy_compliance = fields.Float(allow_none=True)


class MissingMetricSchema(StoredAnswerSchema):
    metric = fields.String()
    reason = fields.String()


class SideSentimentSchema(StoredAnswerSchema):
    """The sentiment of one side, -1 to 1."""

    overall = fields.Float(allow_none=True)
    by_quarter = fields.List(fields.Float(allow_none=True))
    begin = fields.Float(allow_none=True)
    end = fields.Float(allow_none=True)
    shift = fields.Float(allow_none=True)
    trend = Choice(TRENDS)


class SentimentPointSchema(StoredAnswerSchema):
    segment_id = fields.String()
    at_ms = fields.Integer(allow_none=True)
    role = Choice(ROLES)
    score = fields.Float()


class SentimentSchema(StoredAnswerSchema):
    """The sentiment of both sides, over time."""

    customer = Nested(SideSentimentSchema)
    agent = Nested(SideSentimentSchema)
    timeline = fields.List(Nested(SentimentPointSchema))


class OtherResolutionSchema(StoredAnswerSchema):
    """The outcome as the other judge has read it."""

    status = Choice(RESOLUTIONS)
    explanation = fields.String(allow_none=True)
    judged_by = Choice(("rule", "model"))


class ResolutionSchema(StoredAnswerSchema):
    sometimes = frozenset({"otherwise"})

    status = Choice(RESOLUTIONS)
    probability = fields.Float(allow_none=True)
    explanation = fields.String(allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema))
    follow_up_promised = fields.Boolean(allow_none=True)
    escalated = fields.Boolean(allow_none=True)
    otherwise = Nested(OtherResolutionSchema, **about("Only where rules and model differ."))


class SummarySchema(StoredAnswerSchema):
    overview = fields.String(allow_none=True)
    issue = fields.String(allow_none=True)
    outcome = fields.String(allow_none=True)
    action_items = fields.List(fields.String())


class MomentSchema(StoredAnswerSchema):
    type = Choice(MOMENT_TYPES)
    start_ms = fields.Integer(allow_none=True)
    end_ms = fields.Integer(allow_none=True)
    segment_id = fields.String(allow_none=True)
    role = Choice(ROLES, allow_none=True)
    severity = Choice(("info", "warn", "critical"))
    label = fields.String()


class AdviceSchema(StoredAnswerSchema):
    text = fields.String()
    criterion_key = fields.String(allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema))


class CoachingSchema(StoredAnswerSchema):
    strengths = fields.List(Nested(AdviceSchema))
    improvements = fields.List(Nested(AdviceSchema))


class ResultsSchema(StoredAnswerSchema):
    """The results of an evaluation; objects are null and lists empty until it is completed."""

    sometimes = frozenset({"compliance_checked"})

    evaluation_id = fields.String()
    status = Choice(list(Status))
    score = fields.Integer(allow_none=True)
    raw_score = fields.Float(allow_none=True)
    max_score = fields.Integer()
    compliance_score = fields.Float(allow_none=True)
    compliance_checked = fields.List(
        fields.String(), **about("The criteria on which that score rests.")
    )
    coverage = fields.Float(
        allow_none=True,
        **about("The share, 0 to 1, that was judged of the weight of the criteria that apply."),
    )
    no_verdict_reason = fields.String(
        allow_none=True, **about("Why there is a score but no band, and neither pass nor fail.")
    )
    band = Choice(BANDS, allow_none=True)
    passed = fields.Boolean(allow_none=True)
    pass_threshold = fields.Integer(allow_none=True)
    auto_fail = Nested(AutoFailSchema, allow_none=True)
    scorecard = Nested(ScorecardReferenceSchema)
    engine = Nested(EngineSchema, allow_none=True)
    generated_at = Timestamp(allow_none=True)
    revision = fields.Integer()
    sections = fields.List(Nested(SectionSchema))
    criteria = fields.List(Nested(CriterionSchema))
    dimensions = Nested(DimensionsSchema, allow_none=True)
    metrics = fields.Dict(
        keys=fields.String(),
        values=fields.Float(allow_none=True),
        **about("A number or null by name; metricsMissing tells why null."),
    )
    metrics_missing = fields.List(Nested(MissingMetricSchema))
    metrics_uncertain = fields.List(fields.String())
    sentiment = Nested(SentimentSchema, allow_none=True)
    topics = fields.List(fields.String())
    resolution = Nested(ResolutionSchema, allow_none=True)
    summary = Nested(SummarySchema, allow_none=True)
    moments = fields.List(Nested(MomentSchema))
    coaching = Nested(CoachingSchema, allow_none=True)
    quality = Nested(QualitySchema, allow_none=True)
    reviews = fields.List(Nested(ReviewSchema))
