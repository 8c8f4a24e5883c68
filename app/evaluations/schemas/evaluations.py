"""Schemas of evaluations and of the filters of their list."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from app.core.ids import SUFFIX
from app.evaluations.enums import (
    BANDS,
    DIRECTIONS,
    RESOLUTIONS,
    ROLES,
    TRENDS,
    ByDay,
    Channel,
    FailureCode,
    ReviewStatus,
    SourceType,
    Status,
)
from app.evaluations.schemas.contacts import CampaignReference
from app.evaluations.schemas.results import EngineSchema, SummarySchema
from app.web.schemas.base import (
    RANGE,
    TYPE,
    AnswerSchema,
    CamelSchema,
    CodedMessage,
    about,
    not_one_of,
    reject,
)
from app.web.schemas.fields import (
    Choice,
    Flag,
    LanguageTag,
    Nested,
    Number,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import (
    Choices,
    Ids,
    PeriodFilter,
    PeriodQuery,
    QueryFlag,
    QueryNumber,
    QueryWhole,
    sort_field,
)

MOST_IDS = 100
_MAX_CONFIDENCE = "Only evaluations with at most this confidence."
_AGENT_UNNAMED = (
    "Voices of one channel were told apart, and a person has to say which one is the agent's."
)
_HAS_VERDICT = "false: scored, but too little was judged for a band, pass or fail."


def by_day_field() -> Choice:
    """Build the parameter `byDay`, which says what the period bounds."""
    return Choice(
        list(ByDay),
        **about(
            "`from` and `to` bound the start of the conversation (`conversation`, the "
            "default: `conversationAt`), or the time of its evaluation (`judgement`: `createdAt`)."
        ),
    )


class Words(fields.Raw):
    """Values of an enum, as a comma-separated string or an array; loads as a list."""

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._choices = choices
        self.metadata = {
            "oneOf": [
                {"type": "string", "description": f"Comma list of {', '.join(choices)}"},
                {"type": "array", "items": {"type": "string", "enum": choices}},
            ],
            **self.metadata,
        }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[str]:
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list) or not words:
            raise ValidationError(
                CodedMessage(TYPE, "This must be a string or an array of strings.")
            )
        for word in words:
            if word not in self._choices:
                raise ValidationError(not_one_of(repr(word), str(word), self._choices))
        return list(dict.fromkeys(words))


class EvaluationFilters(CamelSchema):
    """The filters of evaluations; subclasses add the period and `current`."""

    by_day = by_day_field()

    ids = Ids("eval", most=MOST_IDS)
    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    source_type: fields.Field[Any] = Words([str(kind) for kind in SourceType])
    source_id = Pattern(
        f"(conv|aud|call)_{SUFFIX}",
        "This must be the id of a conversation, an audio file or a voice call.",
    )
    channel: fields.Field[Any] = Words([str(channel) for channel in Channel])
    status: fields.Field[Any] = Words([str(status) for status in Status])
    review_status: fields.Field[Any] = Words([str(status) for status in ReviewStatus])
    reviewed_by = Text(
        200,
        low=1,
        **about(
            "The `reviewerRef`, or else the name, of a person who has "
            "started or given a review; case is ignored."
        ),
    )
    scorecard_id = Reference("sc")
    scorecard_version = Whole(low=1, high=1_000_000)
    min_score = Whole(low=0, high=100)
    max_score = Whole(low=0, high=100)
    max_confidence = Number(low=0, high=1, **about(_MAX_CONFIDENCE))
    passed = Flag()
    has_verdict = Flag(**about(_HAS_VERDICT))
    auto_failed = Flag()
    sentiment_trend: fields.Field[Any] = Words(list(TRENDS))
    resolution: fields.Field[Any] = Words(list(RESOLUTIONS))
    topic = Text(100, low=1)
    language = LanguageTag(**about("`en` also finds `en-GB` and other subtags."))
    q = Text(
        200,
        low=1,
        **about(
            "Words that all occur in the summary, the externalId, or the name of "
            "the executive, the campaign or the call centre; case is ignored."
        ),
    )

    said = Text(
        200,
        low=1,
        **about(
            "Words, or phrases in quotes, that were all said in the conversation, in any "
            'order; `refund` also finds `refunded`, `"refund"` does not. Case and accents are ignored.'
        ),
    )

    @validates_schema
    def _check_scores(self, data: dict[str, Any], **_: Any) -> None:
        if data.get("min_score", 0) > data.get("max_score", 100):
            raise reject("maxScore", "The highest score must not be below the lowest.", code=RANGE)


class CurrentFilters(PeriodFilter, EvaluationFilters):
    """Filters of current evaluations; `from` and `to` bound conversationAt."""


class EvaluationQuery(EvaluationFilters, PeriodQuery):
    """The filters of the list of evaluations; `from` and `to` bound conversationAt."""

    source_type = Choices(list(SourceType))
    channel = Choices(list(Channel))
    status = Choices(list(Status))
    review_status = Choices(list(ReviewStatus))
    scorecard_version = QueryWhole(low=1, high=1_000_000)
    min_score = QueryWhole(low=0, high=100)
    max_score = QueryWhole(low=0, high=100)
    max_confidence = QueryNumber(low=0, high=1, **about(_MAX_CONFIDENCE))
    passed = QueryFlag()
    has_verdict = QueryFlag(**about(_HAS_VERDICT))
    auto_failed = QueryFlag()
    agent_unnamed = QueryFlag(**about(_AGENT_UNNAMED))
    sentiment_trend = Choices(TRENDS)
    resolution = Choices(RESOLUTIONS)
    current = QueryFlag(load_default=True, **about("false: every revision, superseded ones too."))
    sort = sort_field(
        *("conversationAt", "createdAt", "completedAt", "startedAt"),
        *("score", "confidence", "durationSeconds"),
        default="-conversationAt",
    )


class ResultsQuery(CamelSchema):
    as_judged = QueryFlag(load_default=False, **about("true: as judged, before any review."))


class FailureSchema(AnswerSchema):
    code = Choice(list(FailureCode))
    message = fields.String()


class SaidMatchSchema(AnswerSchema):
    start = fields.Integer(**about("Characters before it."))
    end = fields.Integer(**about("Characters up to its end."))


class SaidSchema(AnswerSchema):
    """The turn in which it was said: the first one with the most of what was searched for."""

    segment_id = fields.String(metadata={"example": "seg_0007"})
    role = Choice(ROLES)
    start_ms = fields.Integer(allow_none=True)
    sent_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    snippet = fields.String(**about("Its words around what was said."))
    matches = fields.List(Nested(SaidMatchSchema))


class EvaluationSchema(AnswerSchema):
    """One revision of an evaluation; names and ids as they were when it was opened."""

    sometimes = frozenset({"said"})

    id = fields.String(metadata={"example": "eval_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String(allow_none=True)
    campaign_id = fields.String(allow_none=True)
    campaign = fields.String(allow_none=True)
    call_center_id = fields.String(allow_none=True)
    call_center = fields.String(allow_none=True)
    executive_id = fields.String(allow_none=True)
    executive = fields.String(allow_none=True)
    source_type = Choice(list(SourceType))
    source_id = fields.String()
    channel = Choice(list(Channel))
    direction = Choice(DIRECTIONS)
    language = fields.String(allow_none=True)
    status = Choice(list(Status))
    review_status = Choice(list(ReviewStatus))
    score = fields.Integer(allow_none=True)
    raw_score = fields.Float(allow_none=True)
    compliance_score = fields.Float(allow_none=True)
    judged_weight_percent = fields.Float(allow_none=True)
    has_verdict = fields.Boolean(
        allow_none=True,
        **about(
            "false: too little was judged for a band, pass or fail; such an "
            "evaluation counts in no pass rate, mean score or rank. null without a score."
        ),
    )
    passed = fields.Boolean(allow_none=True)
    pass_threshold = fields.Integer(allow_none=True)
    band = Choice(BANDS, allow_none=True)
    auto_failed = fields.Boolean()
    agent_unnamed = fields.Boolean(**about(_AGENT_UNNAMED))
    failed_criteria = fields.List(fields.String())
    customer_sentiment = fields.Float(allow_none=True)
    sentiment_trend = Choice(TRENDS, allow_none=True)
    resolution = Choice(RESOLUTIONS, allow_none=True)
    predicted_satisfaction = fields.Float(allow_none=True)
    topics = fields.List(fields.String())
    scorecard_id = fields.String()
    scorecard_version = fields.Integer()
    scorecard_name = fields.String()
    engine = Nested(EngineSchema, allow_none=True)
    confidence = fields.Float(allow_none=True)
    duration_seconds = fields.Integer(allow_none=True)
    turn_count = fields.Integer(allow_none=True)
    started_at = Timestamp(allow_none=True)
    conversation_at = Timestamp()
    created_at = Timestamp()
    completed_at = Timestamp(allow_none=True)
    updated_at = Timestamp()
    redacted = fields.Boolean()
    revision = fields.Integer()
    supersedes_id = fields.String(allow_none=True)
    is_current = fields.Boolean()
    error = Nested(FailureSchema, allow_none=True)
    external_id = fields.String(allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    said = Nested(
        SaidSchema, allow_none=True, **about("Only in a list that is filtered by `said`.")
    )


class EvaluationDetailSchema(EvaluationSchema):
    summary = Nested(SummarySchema, allow_none=True)
