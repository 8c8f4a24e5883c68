"""Schemas of evaluations and of the filters of their list."""

from marshmallow import fields

from app.evaluations.enums import (
    BANDS,
    DIRECTIONS,
    RESOLUTIONS,
    TRENDS,
    Channel,
    FailureCode,
    ReviewStatus,
    SourceType,
    Status,
)
from app.evaluations.schemas.filters import HAS_VERDICT, MAX_CONFIDENCE, EvaluationFilters
from app.evaluations.schemas.results import EngineSchema, SummarySchema
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Nested, Timestamp
from app.web.schemas.query_fields import (
    Choices,
    PeriodQuery,
    QueryFlag,
    QueryNumber,
    QueryWhole,
    sort_field,
)


class EvaluationQuery(EvaluationFilters, PeriodQuery):
    """The filters of the list of evaluations; `from` and `to` bound createdAt."""

    source_type = Choices(list(SourceType))
    channel = Choices(list(Channel))
    status = Choices(list(Status))
    review_status = Choices(list(ReviewStatus))
    scorecard_version = QueryWhole(low=1, high=1_000_000)
    min_score = QueryWhole(low=0, high=100)
    max_score = QueryWhole(low=0, high=100)
    max_confidence = QueryNumber(low=0, high=1, metadata={"description": MAX_CONFIDENCE})
    passed = QueryFlag()
    has_verdict = QueryFlag(metadata={"description": HAS_VERDICT})
    auto_failed = QueryFlag()
    sentiment_trend = Choices(TRENDS)
    resolution = Choices(RESOLUTIONS)
    current = QueryFlag(
        load_default=True,
        metadata={"description": "false: every revision, superseded ones too."},
    )
    sort = sort_field(
        "createdAt", "completedAt", "startedAt", "score", "confidence", "durationSeconds"
    )


class ResultsQuery(CamelSchema):
    """The query of results."""

    as_judged = QueryFlag(
        load_default=False,
        metadata={"description": "true: as judged, before any review."},
    )


class FailureSchema(CamelSchema):
    """The reason of a failed evaluation."""

    code = Choice(list(FailureCode), required=True)
    message = fields.String(required=True)


class EvaluationSchema(CamelSchema):
    """One revision of an evaluation; names and ids as they were when it was opened."""

    id = fields.String(required=True, metadata={"example": "eval_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String(required=True, allow_none=True)
    campaign_id = fields.String(required=True, allow_none=True)
    campaign = fields.String(required=True, allow_none=True)
    call_center_id = fields.String(required=True, allow_none=True)
    call_center = fields.String(required=True, allow_none=True)
    executive_id = fields.String(required=True, allow_none=True)
    executive = fields.String(required=True, allow_none=True)
    source_type = Choice(list(SourceType), required=True)
    source_id = fields.String(required=True)
    channel = Choice(list(Channel), required=True)
    direction = Choice(DIRECTIONS, required=True)
    language = fields.String(required=True, allow_none=True)
    status = Choice(list(Status), required=True)
    review_status = Choice(list(ReviewStatus), required=True)
    score = fields.Integer(required=True, allow_none=True)
    raw_score = fields.Float(required=True, allow_none=True)
    compliance_score = fields.Float(required=True, allow_none=True)
    judged_weight_percent = fields.Float(required=True, allow_none=True)
    has_verdict = fields.Boolean(
        required=True,
        allow_none=True,
        metadata={
            "description": "false: too little was judged for a band, pass or fail; such an "
            "evaluation counts in no pass rate, mean score or rank. null without a score."
        },
    )
    passed = fields.Boolean(required=True, allow_none=True)
    pass_threshold = fields.Integer(required=True, allow_none=True)
    band = Choice(BANDS, required=True, allow_none=True)
    auto_failed = fields.Boolean(required=True)
    failed_criteria = fields.List(fields.String(), required=True)
    customer_sentiment = fields.Float(required=True, allow_none=True)
    sentiment_trend = Choice(TRENDS, required=True, allow_none=True)
    resolution = Choice(RESOLUTIONS, required=True, allow_none=True)
    predicted_satisfaction = fields.Float(required=True, allow_none=True)
    topics = fields.List(fields.String(), required=True)
    scorecard_id = fields.String(required=True)
    scorecard_version = fields.Integer(required=True)
    scorecard_name = fields.String(required=True)
    engine = Nested(EngineSchema, required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)
    duration_seconds = fields.Integer(required=True, allow_none=True)
    turn_count = fields.Integer(required=True, allow_none=True)
    started_at = Timestamp(required=True, allow_none=True)
    created_at = Timestamp(required=True)
    completed_at = Timestamp(required=True, allow_none=True)
    updated_at = Timestamp(required=True)
    redacted = fields.Boolean(required=True)
    revision = fields.Integer(required=True)
    supersedes_id = fields.String(required=True, allow_none=True)
    is_current = fields.Boolean(required=True)
    error = Nested(FailureSchema, required=True, allow_none=True)
    external_id = fields.String(required=True, allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String(), required=True)


class EvaluationDetailSchema(EvaluationSchema):
    """An evaluation with its summary."""

    summary = Nested(SummarySchema, required=True, allow_none=True)
