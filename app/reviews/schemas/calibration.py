"""Schemas of calibration profiles."""

from marshmallow import fields

from app.reviews.schemas.agreement import AgreementEstimateSchema
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Nested, Reference, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class CalibrationProfileQuery(PageQuery):
    """Filter and page of the list of profiles."""

    engagement_id = Reference("eng")
    sort = sort_field("createdAt", "version")


class CalibrationFiguresSchema(CamelSchema):
    """Agreement of the score with people's scores; null if it cannot be computed."""

    spearman = Nested(AgreementEstimateSchema, required=True, allow_none=True)
    mae = Nested(AgreementEstimateSchema, required=True, allow_none=True)
    bias = Nested(AgreementEstimateSchema, required=True, allow_none=True)


class CalibrationChangeSchema(CamelSchema):
    """`after` minus `before`: a gain is above 0 for spearman and below 0 for mae."""

    spearman = Nested(AgreementEstimateSchema, required=True, allow_none=True)
    mae = Nested(AgreementEstimateSchema, required=True, allow_none=True)


class CalibrationGainSchema(CamelSchema):
    """Cross-validated gain: each conversation is scored by a model fitted without it."""

    before = Nested(CalibrationFiguresSchema, required=True)
    after = Nested(CalibrationFiguresSchema, required=True)
    change = Nested(CalibrationChangeSchema, required=True)


class CalibratedEngineSchema(CamelSchema):
    """The engine whose judgements a profile applies to."""

    kind = Choice(("rules", "model", "hybrid"), required=True)
    provider = fields.String(required=True, allow_none=True)
    model = fields.String(required=True, allow_none=True)
    prompt_version = fields.String(required=True, allow_none=True, attribute="promptVersion")


class CalibrationProfileSchema(CamelSchema):
    """One version of the calibration of an engagement; it never changes."""

    id = fields.String(required=True, metadata={"example": "cal_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String(required=True)
    version = fields.Integer(required=True)
    active = fields.Boolean(
        required=True, metadata={"description": "Whether new judgements are calibrated by it."}
    )
    engine = Nested(CalibratedEngineSchema, required=True)
    label_source = Choice(("reviews", "file"), required=True)
    label_count = fields.Integer(required=True)
    figures = Nested(CalibrationGainSchema, required=True)
    created_at = Timestamp(required=True)
