"""Shapes of summaries, leaderboards and trends."""

from typing import Any

from marshmallow import fields, validates_schema

from app.analytics.query_shapes import AnalyticsQuery
from app.evaluations.enums import Channel
from app.web.schemas.base import CamelSchema, reject
from app.web.schemas.fields import Choice, Moment, Nested
from app.web.schemas.messages import ENUM
from app.web.schemas.pagination import PageQuery, sort_field
from app.web.schemas.query_fields import QueryWhole

METRICS = (
    "score",
    "passRate",
    "autoFailRate",
    "complianceScore",
    "customerSentiment",
    "evaluations",
    "talkRatio",
    "silencePercent",
    "interruptions",
    "agentWpm",
    "firstResponseSeconds",
    "resolutionRate",
    "durationSeconds",
)
GRANULARITIES = ("hour", "day", "week", "month")
GROUPS = ("none", "campaign", "callCenter", "executive", "channel", "section", "topic")


def _mean(description: str = "") -> fields.Float:
    metadata = {"description": description} if description else {}
    return fields.Float(required=True, allow_none=True, metadata=metadata)


class BoardQuery(AnalyticsQuery, PageQuery):
    """The same for a leaderboard, with its page and its order."""

    sort = sort_field(
        *("rank", "meanScore", "evaluations", "passRate", "autoFailRate", "name"), default="rank"
    )


class TrendQuery(AnalyticsQuery):
    """The same for a trend, with what is shown over which steps."""

    metric = Choice(METRICS, load_default="score")
    granularity = Choice(GRANULARITIES, load_default="day")
    group_by = Choice(GROUPS, load_default="none")
    limit = QueryWhole(low=1, high=100, load_default=10)

    @validates_schema
    def _check_group(self, data: dict[str, Any], **_: Any) -> None:
        if data["group_by"] == "section" and data["metric"] != "score":
            raise reject("groupBy", "Sections have scores only: metric must be score.", code=ENUM)


class AnalyticsPeriodSchema(CamelSchema):
    """What was looked at: from (inclusive) to (exclusive)."""

    start = Moment(data_key="from", required=True)
    end = Moment(data_key="to", required=True)
    timezone = fields.String(required=True)


class AnalyticsTotalsSchema(CamelSchema):
    """How many contacts of each kind there are, evaluated or not, and how far evaluations are.

    A contact counts when its evaluation was made, or without one when it came in. Calls that nobody
    took and uploads that never came are none.
    """

    conversations = fields.Integer(required=True)
    voice_calls = fields.Integer(required=True)
    audio_files = fields.Integer(required=True)
    evaluations = fields.Integer(required=True)
    completed = fields.Integer(required=True)
    without_verdict = fields.Integer(
        required=True,
        metadata={
            "description": "Completed, but too little was judged to pass or fail: in no pass rate, "
            "mean score or rank."
        },
    )
    failed = fields.Integer(required=True)
    pending = fields.Integer(required=True)


class AnalyticsScoreClassSchema(CamelSchema):
    """How many scores are at least `from` and below `to`; the last class has 100, too."""

    low = fields.Integer(data_key="from", required=True)
    high = fields.Integer(data_key="to", required=True)
    count = fields.Integer(required=True)


class AnalyticsScoreSchema(CamelSchema):
    """The scores of evaluations with a verdict; percentiles are exact, between neighbours."""

    mean = _mean()
    median = _mean()
    p10 = _mean()
    p90 = _mean()
    stdev = _mean("Of all the scores, not of a sample.")
    pass_rate = _mean()
    auto_fail_rate = _mean()
    compliance_mean = _mean()
    distribution = fields.List(Nested(AnalyticsScoreClassSchema), required=True)


class AnalyticsSentimentSchema(CamelSchema):
    """How customers felt: positive from 0.1, negative from -0.1."""

    positive = fields.Integer(required=True)
    neutral = fields.Integer(required=True)
    negative = fields.Integer(required=True)
    mean_customer = _mean()
    improving_rate = _mean("Among those with a trend.")
    declining_rate = _mean("Among those with a trend.")


class AnalyticsResolutionSchema(CamelSchema):
    """How many contacts ended how."""

    resolved = fields.Integer(required=True)
    partially_resolved = fields.Integer(required=True, data_key="partially_resolved")
    unresolved = fields.Integer(required=True)
    escalated = fields.Integer(required=True)
    unknown = fields.Integer(required=True)  # type: ignore[assignment]


class AnalyticsSpeechSchema(CamelSchema):
    """Means over the contacts that have the metric."""

    talk_ratio = _mean()
    silence_percent = _mean()
    dead_air_per_call = _mean()
    interruptions_per_call = _mean("Interruptions by the agent.")
    agent_wpm = _mean()


class AnalyticsResponseSchema(CamelSchema):
    """The time until the first answer of a person."""

    first_response_seconds_median = _mean()
    first_response_seconds_p90 = _mean()


class AnalyticsHeadlineSchema(CamelSchema):
    """The figures that are asked for first."""

    evaluations = fields.Integer(required=True)
    mean_score = _mean()
    pass_rate = _mean()
    auto_fail_rate = _mean()
    compliance_mean = _mean()
    mean_customer_sentiment = _mean()


class AnalyticsChannelSchema(AnalyticsHeadlineSchema):
    """The figures of one channel."""

    channel = Choice(list(Channel), required=True)


class AnalyticsChangeSchema(AnalyticsHeadlineSchema):
    """By how much they have moved since the period before; null where one side is missing."""

    period = Nested(AnalyticsPeriodSchema, required=True)


class AnalyticsTopicSchema(CamelSchema):
    """A topic and the share of completed evaluations that have it."""

    topic = fields.String(required=True)
    count = fields.Integer(required=True)
    share = _mean()


class AnalyticsCriterionMeanSchema(CamelSchema):
    """A criterion with its mean score, 0 to 100, where it applied."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    section = fields.String(required=True)
    mean_score = _mean()
    evaluations = fields.Integer(required=True)


class AnalyticsSummarySchema(CamelSchema):
    """Everything at a glance; all of it counts current revisions only."""

    period = Nested(AnalyticsPeriodSchema, required=True)
    totals = Nested(AnalyticsTotalsSchema, required=True)
    coverage = _mean("Share of the contacts that have a completed evaluation.")
    score = Nested(AnalyticsScoreSchema, required=True)
    sentiment = Nested(AnalyticsSentimentSchema, required=True)
    resolution = Nested(AnalyticsResolutionSchema, required=True)
    speech = Nested(AnalyticsSpeechSchema, required=True)
    response = Nested(AnalyticsResponseSchema, required=True)
    by_channel = fields.List(Nested(AnalyticsChannelSchema), required=True)
    top_topics = fields.List(Nested(AnalyticsTopicSchema), required=True)
    weakest_criteria = fields.List(Nested(AnalyticsCriterionMeanSchema), required=True)
    change = Nested(AnalyticsChangeSchema, required=True, allow_none=True)


class AnalyticsPointSchema(CamelSchema):
    """One step; the first and the last one end where the period does."""

    period_start = Moment(required=True)
    period_end = Moment(required=True)
    value = _mean("Null for a mean of nothing.")
    count = fields.Integer(required=True)


class AnalyticsSeriesSchema(CamelSchema):
    """The course of one group; `slopePerPeriod` is by least squares over points with a value."""

    key = fields.String(required=True)
    name = fields.String(required=True)
    points = fields.List(Nested(AnalyticsPointSchema), required=True)
    slope_per_period = _mean()


class AnalyticsTrendSchema(CamelSchema):
    """One metric over time."""

    period = Nested(AnalyticsPeriodSchema, required=True)
    metric = Choice(METRICS, required=True)
    granularity = Choice(GRANULARITIES, required=True)
    group_by = Choice(GROUPS, required=True)
    series = fields.List(Nested(AnalyticsSeriesSchema), required=True)
