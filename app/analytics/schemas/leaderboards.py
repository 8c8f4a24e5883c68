"""Schemas of leaderboards."""

from marshmallow import fields

from app.analytics.schemas.fields import optional_number
from app.analytics.schemas.query import AnalyticsQuery
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Nested, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class LeaderboardQuery(AnalyticsQuery, PageQuery):
    """The query of a leaderboard: the common parameters, its page and its order."""

    sort = sort_field(
        *("rank", "meanScore", "evaluations", "passRate", "autoFailRate", "name"), default="rank"
    )


class AnalyticsSectionMeanSchema(CamelSchema):
    """The mean score of one section."""

    key = fields.String(required=True)
    mean_score = optional_number()


class AnalyticsLeaderboardChangeSchema(CamelSchema):
    """Changes of a member since the period before."""

    mean_score = optional_number()
    pass_rate = optional_number()


class AnalyticsStandoutSchema(CamelSchema):
    """The criterion with the highest or the lowest mean score."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    mean_score = optional_number()


class AnalyticsMemberSchema(CamelSchema):
    """The numbers of one campaign or call centre."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    evaluations = fields.Integer(required=True)
    without_verdict = fields.Integer(
        required=True,
        metadata={"description": "Of the evaluations; they count in no score, pass rate or rank."},
    )
    mean_score = optional_number()
    median_score = optional_number()
    p10 = optional_number()
    p90 = optional_number()
    stdev = optional_number("Population standard deviation of the scores.")
    pass_rate = optional_number()
    auto_fail_rate = optional_number()
    compliance_mean = optional_number()
    mean_customer_sentiment = optional_number()
    declining_rate = optional_number("Among those with a trend.")
    resolution_rate = optional_number("Among those with a known resolution.")
    mean_duration_seconds = optional_number()
    talk_ratio = optional_number()
    silence_percent = optional_number()
    interruptions_per_call = optional_number()
    first_response_seconds_median = optional_number()
    sections = fields.List(Nested(AnalyticsSectionMeanSchema), required=True)
    change = Nested(AnalyticsLeaderboardChangeSchema, required=True, allow_none=True)
    rank = fields.Integer(
        required=True,
        allow_none=True,
        metadata={
            "description": "By adjustedScore; null below minEvaluations, evaluations without a "
            "verdict left out."
        },
    )
    rank_eligible = fields.Boolean(required=True)
    adjusted_score = optional_number(
        "(n * mean + 5 * mean of all) / (n + 5) over the n evaluations with a verdict."
    )
    last_evaluation_at = Timestamp(required=True, allow_none=True)


class AnalyticsExecutiveSchema(AnalyticsMemberSchema):
    """The numbers of one executive; people and bots are ranked separately."""

    call_center_id = fields.String(required=True, allow_none=True)
    call_center = fields.String(required=True, allow_none=True)
    kind = Choice(("human", "bot"), required=True)
    top_strength = Nested(AnalyticsStandoutSchema, required=True, allow_none=True)
    top_weakness = Nested(AnalyticsStandoutSchema, required=True, allow_none=True)
    reviewed_count = fields.Integer(required=True)
