"""Schemas of calibration rounds."""

from marshmallow import fields

from app.analytics.schemas.agreement import AgreementSchema
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Items, Nested, Reference, Text, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class CalibrationRoundCreate(CamelSchema):
    """Conversations that several people are to rate, each without seeing the others' answers."""

    name = Text(120, low=1, required=True, metadata={"example": "Refunds, November"})
    evaluation_ids = Items(Reference("eval"), low=1, high=50, required=True)
    reviewers = Items(
        Text(200, low=1),
        low=2,
        high=20,
        required=True,
        metadata={
            "description": "The `reviewerRef`, or the name, that each person's reviews have.",
            "example": ["mara", "tom"],
        },
    )


class CalibrationRoundQuery(PageQuery):
    """Page of the list of rounds."""

    sort = sort_field("createdAt")


class CalibrationRoundView(CamelSchema):
    """The person for whom a round is read."""

    reviewer = Text(
        200,
        low=1,
        metadata={
            "description": "A reviewer of the round. Nothing is sealed for one who has rated everything."
        },
    )


class CalibrationRoundSchema(CamelSchema):
    """A calibration round."""

    id = fields.String(required=True, metadata={"example": "round_01k9zq4v2me8wb7xq3s5ndt6ha"})
    name = fields.String(required=True)
    evaluation_ids = fields.List(fields.String(), required=True)
    reviewers = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The `reviewerRef`, or the name, of each person."},
    )
    created_by = fields.String(
        required=True, metadata={"description": "Id of the API key or the user."}
    )
    created_at = Timestamp(required=True)


class RoundRatingSchema(CamelSchema):
    """Rating of one person; scores are null while sealed, or if too few criteria were answered."""

    evaluation_id = fields.String(required=True)
    reviewer = fields.String(required=True)
    score = fields.Float(
        required=True,
        allow_none=True,
        metadata={"description": "The person's score: given, or from answers to every criterion."},
    )
    judge_score = fields.Float(
        required=True, allow_none=True, metadata={"description": "The judge's own score."}
    )
    answer_count = fields.Integer(
        required=True, metadata={"description": "Number of criteria that the person has answered."}
    )


class RoundAnswerSchema(CamelSchema):
    """An answer to a criterion."""

    applicable = fields.Boolean(required=True)
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)


class RoundReviewerAnswerSchema(RoundAnswerSchema):
    """A person's answer to a criterion."""

    reviewer = fields.String(required=True)


class RoundDifferenceSchema(CamelSchema):
    """A criterion of a conversation that people have answered differently."""

    evaluation_id = fields.String(required=True)
    key = fields.String(required=True)
    title = fields.String(required=True)
    judge = Nested(RoundAnswerSchema, required=True)
    answers = fields.List(
        Nested(RoundReviewerAnswerSchema),
        required=True,
        metadata={"description": "The answer of each person who has rated the criterion."},
    )


class CalibrationRoundDetailSchema(CalibrationRoundSchema):
    """A calibration round with what people have answered since it was created."""

    sealed = fields.Boolean(
        required=True,
        metadata={
            "description": "Scores, differences and agreement are left out: somebody has yet to rate."
        },
    )
    ratings = fields.List(
        Nested(RoundRatingSchema),
        required=True,
        metadata={"description": "One item for each conversation and person who has rated it."},
    )
    differences = fields.List(
        Nested(RoundDifferenceSchema),
        required=True,
        metadata={"description": "Criteria that people have answered differently."},
    )
    agreement = Nested(
        AgreementSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Agreement of these people with the judge and each other."},
    )
