"""Shapes of calibration profiles."""

from marshmallow import fields

from app.web.fields import Choice, Moment, Nested, Reference
from app.web.pagination import PageQuery, sort_field
from app.web.shapes import CamelSchema


class CalibrationProfileQuery(PageQuery):
    """The filter and the page of the list of profiles."""

    engagement_id = Reference("eng")
    sort = sort_field("createdAt", "version")


class CalibrationEstimateSchema(CamelSchema):
    """A figure with its 95 % interval, where it has one."""

    value = fields.Float(required=True)
    low = fields.Float(required=True, allow_none=True)
    high = fields.Float(required=True, allow_none=True)


class CalibrationFiguresSchema(CamelSchema):
    """Agreement of the score with people's; null where it can't be told."""

    spearman = Nested(CalibrationEstimateSchema, required=True, allow_none=True)
    mae = Nested(CalibrationEstimateSchema, required=True, allow_none=True)
    bias = Nested(CalibrationEstimateSchema, required=True, allow_none=True)


class CalibrationChangeSchema(CamelSchema):
    """After less before: a gain is above 0 in spearman and below 0 in mae."""

    spearman = Nested(CalibrationEstimateSchema, required=True, allow_none=True)
    mae = Nested(CalibrationEstimateSchema, required=True, allow_none=True)


class CalibrationGainSchema(CamelSchema):
    """Cross-validated: each conversation was scored by a model that had not seen it."""

    before = Nested(CalibrationFiguresSchema, required=True)
    after = Nested(CalibrationFiguresSchema, required=True)
    change = Nested(CalibrationChangeSchema, required=True)


class CalibratedEngineSchema(CamelSchema):
    """The engine whose judgements a profile is for."""

    kind = Choice(("rules", "model", "hybrid"), required=True)
    provider = fields.String(required=True, allow_none=True)
    model = fields.String(required=True, allow_none=True)
    prompt_version = fields.String(required=True, allow_none=True, attribute="promptVersion")


class CalibrationProfileSchema(CamelSchema):
    """One version of an engagement's calibration; it never changes."""

    id = fields.String(required=True, metadata={"example": "cal_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String(required=True)
    version = fields.Integer(required=True)
    active = fields.Boolean(
        required=True, metadata={"description": "New judgements are calibrated by it."}
    )
    engine = Nested(CalibratedEngineSchema, required=True)
    label_source = Choice(("reviews", "file"), required=True)
    label_count = fields.Integer(required=True)
    figures = Nested(CalibrationGainSchema, required=True)
    created_at = Moment(required=True)
