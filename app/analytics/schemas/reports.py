"""Schemas of reports: their query, the summary, leaderboards and trends."""

import re
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from marshmallow import fields, validates_schema

from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.evaluations.enums import Channel
from app.evaluations.schemas.contacts import CampaignReference
from app.evaluations.schemas.evaluations import by_day_field
from app.web.schemas.base import ENUM, AnswerSchema, CamelSchema, about, reject
from app.web.schemas.fields import Choice, Nested, Reference, Timestamp, Zone
from app.web.schemas.query_fields import Choices, PageQuery, QueryWhole, sort_field

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Day(Timestamp):
    """A time, or a date that begins in the requested time zone."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError as error:
                raise self.make_error("invalid", input=value, obj_type="moment") from error
        return super()._deserialize(value, attr, data, **kwargs)


def _optional_number(description: str = "") -> fields.Float:
    metadata = {"description": description} if description else {}
    return fields.Float(allow_none=True, metadata=metadata)


class AnalyticsQuery(CamelSchema):
    """The common parameters; `from` and `to` bound the conversationAt of current evaluations."""

    start = Day(data_key="from", **about("Inclusive; by default 30 days before `to`."))
    end = Day(data_key="to", **about("Exclusive; by default now. At most 400 days after `from`."))
    timezone = Zone(load_default=lambda: ZoneInfo("UTC"), **about("IANA name; by default UTC."))
    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    channel = Choices(list(Channel))
    scorecard_id = Reference("sc")
    by_day = by_day_field()
    min_evaluations = QueryWhole(
        low=1,
        high=1_000_000,
        load_default=5,
        **about("With fewer evaluations with a verdict: shown, not ranked."),
    )
    compare = Choice(("none", "previous_period"), load_default="none")


class LeaderboardQuery(AnalyticsQuery, PageQuery):
    """The query of a leaderboard: the common parameters, its page and its order."""

    sort = sort_field(
        *("rank", "meanScore", "evaluations", "passRate", "autoFailRate", "name"), default="rank"
    )


class AnalyticsSectionMeanSchema(AnswerSchema):
    key = fields.String()
    mean_score = _optional_number()


class AnalyticsLeaderboardChangeSchema(AnswerSchema):
    """Changes of a member since the period before."""

    mean_score = _optional_number()
    pass_rate = _optional_number()


class AnalyticsStandoutSchema(AnswerSchema):
    """The criterion with the highest or the lowest mean score."""

    key = fields.String()
    title = fields.String()
    mean_score = _optional_number()


class AnalyticsMemberSchema(AnswerSchema):
    """The numbers of one campaign or call centre."""

    id = fields.String()
    name = fields.String()
    evaluations = fields.Integer()
    without_verdict = fields.Integer(
        **about("Of the evaluations; they count in no score, pass rate or rank.")
    )
    mean_score = _optional_number()
    median_score = _optional_number()
    p10 = _optional_number()
    p90 = _optional_number()
    stdev = _optional_number("Population standard deviation of the scores.")
    pass_rate = _optional_number()
    auto_fail_rate = _optional_number()
    compliance_mean = _optional_number()
    mean_customer_sentiment = _optional_number()
    declining_rate = _optional_number("Among those with a trend.")
    resolution_rate = _optional_number("Among those with a known resolution.")
    mean_duration_seconds = _optional_number()
    talk_ratio = _optional_number()
    silence_percent = _optional_number()
    interruptions_per_call = _optional_number()
    first_response_seconds_median = _optional_number()
    sections = fields.List(Nested(AnalyticsSectionMeanSchema))
    change = Nested(AnalyticsLeaderboardChangeSchema, allow_none=True)
    rank = fields.Integer(
        allow_none=True,
        **about(
            "By adjustedScore; null below minEvaluations, evaluations without a verdict left out."
        ),
    )
    rank_eligible = fields.Boolean()
    adjusted_score = _optional_number(
        "(n * mean + 5 * mean of all) / (n + 5) over the n evaluations with a verdict."
    )
    last_evaluation_at = Timestamp(allow_none=True)


class AnalyticsExecutiveSchema(AnalyticsMemberSchema):
    """The numbers of one executive; people and bots are ranked separately."""

    call_center_id = fields.String(allow_none=True)
    call_center = fields.String(allow_none=True)
    kind = Choice(("human", "bot"))
    top_strength = Nested(AnalyticsStandoutSchema, allow_none=True)
    top_weakness = Nested(AnalyticsStandoutSchema, allow_none=True)
    reviewed_count = fields.Integer()


class TrendQuery(AnalyticsQuery):
    """The query of a trend: the common parameters, its metric, its granularity and its groups."""

    metric = Choice(list(TrendMetric), load_default="score")
    granularity = Choice(list(Granularity), load_default="day")
    group_by = Choice(list(GroupBy), load_default="none")
    limit = QueryWhole(low=1, high=100, load_default=10)

    @validates_schema
    def _check_group(self, data: dict[str, Any], **_: Any) -> None:
        if data["group_by"] == "section" and data["metric"] != "score":
            raise reject("groupBy", "With groupBy=section, metric must be score.", code=ENUM)


class AnalyticsPeriodSchema(AnswerSchema):
    """The period of a report: from (inclusive) to (exclusive)."""

    start = Timestamp(data_key="from")
    end = Timestamp(data_key="to")
    timezone = fields.String()


class AnalyticsTotalsSchema(AnswerSchema):
    """Counts of contacts, evaluated or not, and of evaluations by status.

    A contact counts at its start, or when it came in where that is unknown. Unanswered calls and
    uploads that were never completed are not contacts.
    """

    conversations = fields.Integer()
    voice_calls = fields.Integer()
    audio_files = fields.Integer()
    evaluations = fields.Integer(
        **about(
            "All of them; one that was canceled, such as by an erasure, is neither "
            "completed nor failed nor pending."
        )
    )
    completed = fields.Integer()
    without_verdict = fields.Integer(
        **about(
            "Completed, but too little was judged to pass or fail: in no pass rate, "
            "mean score or rank."
        )
    )
    failed = fields.Integer()
    pending = fields.Integer()


class AnalyticsScoreClassSchema(AnswerSchema):
    """The number of scores from `from` (inclusive) to `to` (exclusive); the last class includes 100."""

    low = fields.Integer(data_key="from")
    high = fields.Integer(data_key="to")
    count = fields.Integer()


class AnalyticsScoreSchema(AnswerSchema):
    """The scores of evaluations with a verdict; percentiles are exact and interpolated."""

    mean = _optional_number()
    median = _optional_number()
    p10 = _optional_number()
    p90 = _optional_number()
    stdev = _optional_number("Population standard deviation.")
    pass_rate = _optional_number()
    auto_fail_rate = _optional_number()
    compliance_mean = _optional_number()
    distribution = fields.List(Nested(AnalyticsScoreClassSchema))


class AnalyticsSentimentSchema(AnswerSchema):
    """Customer sentiment: positive from 0.1, negative from -0.1."""

    positive = fields.Integer()
    neutral = fields.Integer()
    negative = fields.Integer()
    mean_customer = _optional_number()
    improving_rate = _optional_number("Among those with a trend.")
    declining_rate = _optional_number("Among those with a trend.")


class AnalyticsResolutionSchema(AnswerSchema):
    """The number of evaluations by resolution."""

    resolved = fields.Integer()
    partially_resolved = fields.Integer(data_key="partially_resolved")
    unresolved = fields.Integer()
    escalated = fields.Integer()
    unknown = fields.Integer()  # type: ignore[assignment]


class AnalyticsSpeechSchema(AnswerSchema):
    """Means over the evaluations that have the metric."""

    talk_ratio = _optional_number()
    silence_percent = _optional_number()
    dead_air_per_call = _optional_number()
    interruptions_per_call = _optional_number("Interruptions by the agent.")
    agent_wpm = _optional_number()


class AnalyticsResponseSchema(AnswerSchema):
    """The time until the first reply by a person."""

    first_response_seconds_median = _optional_number()
    first_response_seconds_p90 = _optional_number()


class AnalyticsHeadlineSchema(AnswerSchema):
    """The main numbers of a group of evaluations."""

    evaluations = fields.Integer()
    mean_score = _optional_number()
    pass_rate = _optional_number()
    auto_fail_rate = _optional_number()
    compliance_mean = _optional_number()
    mean_customer_sentiment = _optional_number()


class AnalyticsChannelSchema(AnalyticsHeadlineSchema):
    channel = Choice(list(Channel))


class AnalyticsChangeSchema(AnalyticsHeadlineSchema):
    """Changes since the period before; null where one of the two values is null."""

    period = Nested(AnalyticsPeriodSchema)


class AnalyticsTopicSchema(AnswerSchema):
    """A topic and the share of completed evaluations that have it."""

    topic = fields.String()
    count = fields.Integer()
    share = _optional_number()


class AnalyticsCriterionMeanSchema(AnswerSchema):
    """A criterion with its mean score, 0 to 100, where it applied."""

    key = fields.String()
    title = fields.String()
    section = fields.String()
    mean_score = _optional_number()
    evaluations = fields.Integer()


class AnalyticsSummarySchema(AnswerSchema):
    """Summary of a period; it counts current revisions only."""

    period = Nested(AnalyticsPeriodSchema)
    totals = Nested(AnalyticsTotalsSchema)
    coverage = _optional_number("Share of the contacts that have a completed evaluation.")
    score = Nested(AnalyticsScoreSchema)
    sentiment = Nested(AnalyticsSentimentSchema)
    resolution = Nested(AnalyticsResolutionSchema)
    speech = Nested(AnalyticsSpeechSchema)
    response = Nested(AnalyticsResponseSchema)
    by_channel = fields.List(Nested(AnalyticsChannelSchema))
    top_topics = fields.List(Nested(AnalyticsTopicSchema))
    weakest_criteria = fields.List(Nested(AnalyticsCriterionMeanSchema))
    change = Nested(AnalyticsChangeSchema, allow_none=True)


class AnalyticsPointSchema(AnswerSchema):
    """One point; the first begins and the last ends with the period."""

    period_start = Timestamp()
    period_end = Timestamp()
    value = _optional_number("Null where a mean has no evaluations.")
    count = fields.Integer()


class AnalyticsSeriesSchema(AnswerSchema):
    """The points of one group; `slopePerPeriod` is a least-squares fit of the points with a value."""

    key = fields.String()
    name = fields.String()
    points = fields.List(Nested(AnalyticsPointSchema))
    slope_per_period = _optional_number()


class AnalyticsTrendSchema(AnswerSchema):
    """One metric over time."""

    period = Nested(AnalyticsPeriodSchema)
    metric = Choice(list(TrendMetric))
    granularity = Choice(list(Granularity))
    group_by = Choice(list(GroupBy))
    series = fields.List(Nested(AnalyticsSeriesSchema))
