"""Schemas of calibration profiles."""

from marshmallow import fields

from app.reviews.schemas.agreement import AgreementEstimateSchema
from app.web.schemas.base import AnswerSchema, about
from app.web.schemas.fields import Choice, Nested, Reference, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class CalibrationProfileQuery(PageQuery):
    engagement_id = Reference("eng")
    sort = sort_field("createdAt", "version")


class CalibrationChangeSchema(AnswerSchema):
    """`after` minus `before`: a gain is above 0 for spearman and below 0 for mae."""

    spearman = Nested(AgreementEstimateSchema, allow_none=True)
    mae = Nested(AgreementEstimateSchema, allow_none=True)


class CalibrationFiguresSchema(CalibrationChangeSchema):
    """Agreement of the score with people's scores; null if it cannot be computed."""

    bias = Nested(AgreementEstimateSchema, allow_none=True)


class CalibrationGainSchema(AnswerSchema):
    """Cross-validated gain: each conversation is scored by a model fitted without it."""

    before = Nested(CalibrationFiguresSchema)
    after = Nested(CalibrationFiguresSchema)
    change = Nested(CalibrationChangeSchema)


class CalibratedEngineSchema(AnswerSchema):
    """The engine whose judgements a profile applies to."""

    kind = Choice(("rules", "model", "hybrid"))
    provider = fields.String(allow_none=True)
    model = fields.String(allow_none=True)
    prompt_version = fields.String(allow_none=True, attribute="promptVersion")


class CalibrationProfileSchema(AnswerSchema):
    """One version of the calibration of an engagement; it never changes."""

    id = fields.String(metadata={"example": "cal_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String()
    version = fields.Integer()
    active = fields.Boolean(**about("Whether new judgements are calibrated by it."))
    engine = Nested(CalibratedEngineSchema)
    label_source = Choice(("reviews", "file"))
    label_count = fields.Integer()
    figures = Nested(CalibrationGainSchema)
    created_at = Timestamp()
