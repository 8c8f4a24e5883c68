"""Schemas of agreement between the judge and people, and of calibration rounds."""

from marshmallow import fields

from app.analytics.schemas.reports import AnalyticsPeriodSchema, AnalyticsQuery
from app.web.schemas.base import AnswerSchema, CamelSchema, about
from app.web.schemas.fields import Choice, Items, Nested, Reference, Text, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class AgreementQuery(AnalyticsQuery):
    """The period and the filters of the other reports, without rank and comparison."""

    class Meta(AnalyticsQuery.Meta):
        exclude = ("min_evaluations", "compare")


class AgreementEstimateSchema(AnswerSchema):
    """A statistic with its 95 % bootstrap interval; the bounds are null without one."""

    value = fields.Float()
    low = fields.Float(allow_none=True)
    high = fields.Float(allow_none=True)


class AgreementRateSchema(AnswerSchema):
    """A share with Wilson's 95 % interval; `count` is the number of such answers by people."""

    value = fields.Float()
    low = fields.Float()
    high = fields.Float()
    count = fields.Integer()


class AgreementMissingSchema(AnswerSchema):
    figure = fields.String(metadata={"example": "kappa"})
    reason = fields.String(metadata={"example": "There are 7 pairs; this statistic needs 20."})


class AgreementConfusionSchema(AnswerSchema):
    """A row for each answer by people, a column for each answer by the judge, in this order."""

    categories = fields.List(fields.Raw(), metadata={"example": [0, 1]})
    counts = fields.List(fields.List(fields.Integer()), metadata={"example": [[30, 10], [2, 78]]})


class AgreementApplicabilitySchema(AnswerSchema):
    """Counts of who considers the criterion applicable; answers are compared where both do."""

    both = fields.Integer()
    judge_only = fields.Integer()
    human_only = fields.Integer()
    neither = fields.Integer()


def _estimate(description: str = "") -> Nested:
    metadata = {"description": description} if description else {}
    return Nested(AgreementEstimateSchema, allow_none=True, metadata=metadata)


class _PairsSchema(AnswerSchema):
    """The number of pairs, and the reasons for missing statistics."""

    pairs = fields.Integer()
    missing = fields.List(Nested(AgreementMissingSchema))


class AgreementHumanCategoriesSchema(_PairsSchema):
    """People compared with other people who reviewed the same conversation."""

    percent_agreement = _estimate()
    kappa = _estimate()
    weighted_kappa = _estimate()
    alpha = _estimate("Krippendorff's.")


class AgreementHumanNumbersSchema(_PairsSchema):
    """People compared with other people who reviewed the same conversation."""

    mae = _estimate()
    pearson = _estimate()
    spearman = _estimate()
    alpha = _estimate("Krippendorff's, for numbers.")


class AgreementCategoriesSchema(_PairsSchema):
    """The judge compared with people, over categories."""

    percent_agreement = _estimate("0 to 100.")
    kappa = _estimate("Cohen's, for unordered categories; good from 0.6.")
    weighted_kappa = _estimate("With quadratic weights, for scales; good from 0.6.")
    mean_f1 = _estimate("Macro F1: the mean over the categories.")
    mean_recall = _estimate("Unweighted average recall: the mean over the categories.")
    true_positive_rate = Nested(AgreementRateSchema, allow_none=True)
    true_negative_rate = Nested(AgreementRateSchema, allow_none=True)
    confusion = Nested(AgreementConfusionSchema, allow_none=True)
    human_human = Nested(AgreementHumanCategoriesSchema)


class AgreementCriterionSchema(AgreementCategoriesSchema):
    key = fields.String()
    title = fields.String()
    type = Choice(("binary", "scale", "metric"))
    applicability = Nested(AgreementApplicabilitySchema)


class AgreementNumbersSchema(_PairsSchema):
    """The judge compared with people, over numbers."""

    mae = _estimate("Mean absolute error.")
    bias = _estimate("Mean of judge minus human; above 0 the judge is more lenient.")
    pearson = _estimate()
    spearman = _estimate()
    human_human = Nested(AgreementHumanNumbersSchema)


class AgreementScoreSchema(AgreementNumbersSchema):
    """The overall score, 0 to 100."""

    share_within5 = _estimate("Share of pairs at most 5 points apart, 0 to 1.")


class AgreementSchema(AnswerSchema):
    least_pairs = fields.Integer(metadata={"example": 20})
    evaluations = fields.Integer(**about("Reviewed current evaluations."))
    reviewers = fields.Integer()
    criteria = fields.List(Nested(AgreementCriterionSchema))
    score = Nested(AgreementScoreSchema)
    satisfaction = Nested(AgreementNumbersSchema)
    resolution = Nested(AgreementCategoriesSchema)


class AnalyticsAgreementSchema(AgreementSchema):
    period = Nested(AnalyticsPeriodSchema)


class CalibrationRoundCreate(CamelSchema):
    """Conversations that several people are to rate, each without seeing the others' answers."""

    name = Text(120, low=1, required=True, metadata={"example": "Refunds, November"})
    evaluation_ids = Items(Reference("eval"), low=1, high=50, required=True)
    reviewers = Items(
        Text(200, low=1),
        low=2,
        high=20,
        required=True,
        **about(
            "The `reviewerRef`, or the name, that each person's reviews have.",
            example=["mara", "tom"],
        ),
    )


class CalibrationRoundQuery(PageQuery):
    sort = sort_field("createdAt")


class CalibrationRoundView(CamelSchema):
    reviewer = Text(
        200,
        low=1,
        **about("A reviewer of the round. Nothing is sealed for one who has rated everything."),
    )


class CalibrationRoundSchema(AnswerSchema):
    id = fields.String(metadata={"example": "round_01k9zq4v2me8wb7xq3s5ndt6ha"})
    name = fields.String()
    evaluation_ids = fields.List(fields.String())
    reviewers = fields.List(
        fields.String(), **about("The `reviewerRef`, or the name, of each person.")
    )
    created_by = fields.String(**about("Id of the API key or the user."))
    created_at = Timestamp()


class RoundRatingSchema(AnswerSchema):
    """Rating of one person; scores are null while sealed, or if too few criteria were answered."""

    evaluation_id = fields.String()
    reviewer = fields.String()
    score = fields.Float(
        allow_none=True, **about("The person's score: given, or from answers to every criterion.")
    )
    judge_score = fields.Float(allow_none=True, **about("The judge's own score."))
    answer_count = fields.Integer(**about("Number of criteria that the person has answered."))


class RoundAnswerSchema(AnswerSchema):
    applicable = fields.Boolean()
    answer = fields.Raw(allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(allow_none=True)


class RoundReviewerAnswerSchema(RoundAnswerSchema):
    reviewer = fields.String()


class RoundDifferenceSchema(AnswerSchema):
    """A criterion of a conversation that people have answered differently."""

    evaluation_id = fields.String()
    key = fields.String()
    title = fields.String()
    judge = Nested(RoundAnswerSchema)
    answers = fields.List(
        Nested(RoundReviewerAnswerSchema),
        **about("The answer of each person who has rated the criterion."),
    )


class CalibrationRoundDetailSchema(CalibrationRoundSchema):
    sealed = fields.Boolean(
        **about("Scores, differences and agreement are left out: somebody has yet to rate.")
    )
    ratings = fields.List(
        Nested(RoundRatingSchema),
        **about("One item for each conversation and person who has rated it."),
    )
    differences = fields.List(
        Nested(RoundDifferenceSchema), **about("Criteria that people have answered differently.")
    )
    agreement = Nested(
        AgreementSchema,
        allow_none=True,
        **about("Agreement of these people with the judge and each other."),
    )
