"""Shapes of agreement between the judge and people."""

from marshmallow import fields

from app.analytics.query_shapes import AnalyticsQuery
from app.analytics.schemas import AnalyticsPeriodSchema
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Nested


class AgreementQuery(AnalyticsQuery):
    """The period and the filters of the other views; nothing is ranked or compared."""

    class Meta(AnalyticsQuery.Meta):
        """Options that marshmallow reads."""

        exclude = ("min_evaluations", "compare")


class AgreementEstimateSchema(CamelSchema):
    """A figure with its 95 % bootstrap interval, where it has one."""

    value = fields.Float(required=True)
    low = fields.Float(required=True, allow_none=True)
    high = fields.Float(required=True, allow_none=True)


class AgreementRateSchema(CamelSchema):
    """A share with Wilson's 95 % interval; `count` is how often people say so."""

    value = fields.Float(required=True)
    low = fields.Float(required=True)
    high = fields.Float(required=True)
    count = fields.Integer(required=True)


class AgreementMissingSchema(CamelSchema):
    """Why a figure is null."""

    figure = fields.String(required=True, metadata={"example": "kappa"})
    reason = fields.String(
        required=True, metadata={"example": "There are 7 pairs; a figure needs 20."}
    )


class AgreementConfusionSchema(CamelSchema):
    """A row for each category of people, a column for each of the judge, in this order."""

    categories = fields.List(fields.Raw(), required=True, metadata={"example": [0, 1]})
    counts = fields.List(
        fields.List(fields.Integer()), required=True, metadata={"example": [[30, 10], [2, 78]]}
    )


class AgreementApplicabilitySchema(CamelSchema):
    """Who calls the criterion applicable; only where both do, their answers are compared."""

    both = fields.Integer(required=True)
    judge_only = fields.Integer(required=True)
    human_only = fields.Integer(required=True)
    neither = fields.Integer(required=True)


def _estimate(description: str = "") -> Nested:
    metadata = {"description": description} if description else {}
    return Nested(AgreementEstimateSchema, required=True, allow_none=True, metadata=metadata)


class _AmongSchema(CamelSchema):
    """How many pairs there are, and why figures over them are missing."""

    pairs = fields.Integer(required=True)
    missing = fields.List(Nested(AgreementMissingSchema), required=True)


class AgreementHumanCategoriesSchema(_AmongSchema):
    """People against people who reviewed the same conversation."""

    percent_agreement = _estimate()
    kappa = _estimate()
    weighted_kappa = _estimate()
    alpha = _estimate("Krippendorff's.")


class AgreementHumanNumbersSchema(_AmongSchema):
    """People against people who reviewed the same conversation."""

    mae = _estimate()
    pearson = _estimate()
    spearman = _estimate()
    alpha = _estimate("Krippendorff's, for numbers.")


class AgreementCategoriesSchema(_AmongSchema):
    """The judge against people, over categories."""

    percent_agreement = _estimate("0 to 100.")
    kappa = _estimate("Cohen's, of two answers or of kinds; good from 0.6.")
    weighted_kappa = _estimate("With quadratic weights, of scales; good from 0.6.")
    mean_f1 = _estimate("Of the categories (macro F1).")
    mean_recall = _estimate("Of the categories (UAR).")
    true_positive_rate = Nested(AgreementRateSchema, required=True, allow_none=True)
    true_negative_rate = Nested(AgreementRateSchema, required=True, allow_none=True)
    confusion = Nested(AgreementConfusionSchema, required=True, allow_none=True)
    human_human = Nested(AgreementHumanCategoriesSchema, required=True)


class AgreementCriterionSchema(AgreementCategoriesSchema):
    """One criterion."""

    key = fields.String(required=True)
    title = fields.String(required=True)
    type = Choice(("binary", "scale", "metric"), required=True)
    applicability = Nested(AgreementApplicabilitySchema, required=True)


class AgreementNumbersSchema(_AmongSchema):
    """The judge against people, over numbers."""

    mae = _estimate("Mean absolute error.")
    bias = _estimate("Mean of judge minus human: above 0 the judge is the kinder.")
    pearson = _estimate()
    spearman = _estimate()
    human_human = Nested(AgreementHumanNumbersSchema, required=True)


class AgreementScoreSchema(AgreementNumbersSchema):
    """The overall score, 0 to 100."""

    share_within5 = _estimate("Share of pairs at most 5 points apart, 0 to 1.")


class AnalyticsAgreementSchema(CamelSchema):
    """How well the engine's own judgements agree with people's reviews."""

    period = Nested(AnalyticsPeriodSchema, required=True)
    least_pairs = fields.Integer(required=True, metadata={"example": 20})
    evaluations = fields.Integer(
        required=True, metadata={"description": "Reviewed current evaluations."}
    )
    reviewers = fields.Integer(required=True)
    criteria = fields.List(Nested(AgreementCriterionSchema), required=True)
    score = Nested(AgreementScoreSchema, required=True)
    satisfaction = Nested(AgreementNumbersSchema, required=True)
    resolution = Nested(AgreementCategoriesSchema, required=True)
