"""Shapes of leaderboards."""

from marshmallow import fields

from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Moment, Nested


def _mean(description: str = "") -> fields.Float:
    metadata = {"description": description} if description else {}
    return fields.Float(required=True, allow_none=True, metadata=metadata)


class AnalyticsSectionMeanSchema(CamelSchema):
    """The mean score of one section."""

    key = fields.String(required=True)
    mean_score = _mean()


class AnalyticsBoardChangeSchema(CamelSchema):
    """By how much a member has moved since the period before."""

    mean_score = _mean()
    pass_rate = _mean()


class AnalyticsStandoutSchema(CamelSchema):
    """The criterion in which somebody is best, or worst."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    mean_score = _mean()


class AnalyticsMemberSchema(CamelSchema):
    """One campaign or call centre with its figures."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    evaluations = fields.Integer(required=True)
    without_verdict = fields.Integer(
        required=True,
        metadata={"description": "Of the evaluations; they count in no score, pass rate or rank."},
    )
    mean_score = _mean()
    median_score = _mean()
    p10 = _mean()
    p90 = _mean()
    pass_rate = _mean()
    auto_fail_rate = _mean()
    compliance_mean = _mean()
    mean_customer_sentiment = _mean()
    declining_rate = _mean("Among those with a trend.")
    resolution_rate = _mean("Among those of which it is known.")
    mean_duration_seconds = _mean()
    talk_ratio = _mean()
    silence_percent = _mean()
    interruptions_per_call = _mean()
    first_response_seconds_median = _mean()
    sections = fields.List(Nested(AnalyticsSectionMeanSchema), required=True)
    change = Nested(AnalyticsBoardChangeSchema, required=True, allow_none=True)
    rank = fields.Integer(
        required=True,
        allow_none=True,
        metadata={
            "description": "By adjustedScore; null below minEvaluations, evaluations without a "
            "verdict left out."
        },
    )
    rank_eligible = fields.Boolean(required=True)
    adjusted_score = _mean(
        "(n * mean + 5 * mean of all) / (n + 5) over the n evaluations with a verdict."
    )
    last_evaluation_at = Moment(required=True, allow_none=True)


class AnalyticsExecutiveSchema(AnalyticsMemberSchema):
    """One executive; people and bots are ranked apart, each against their own mean."""

    call_center_id = fields.String(required=True, allow_none=True)
    call_center = fields.String(required=True, allow_none=True)
    kind = Choice(("human", "bot"), required=True)
    top_strength = Nested(AnalyticsStandoutSchema, required=True, allow_none=True)
    top_weakness = Nested(AnalyticsStandoutSchema, required=True, allow_none=True)
    reviewed_count = fields.Integer(required=True)
