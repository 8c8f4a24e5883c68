"""Shapes of scorecards."""

from marshmallow import fields

from app.web.fields import Choice, Moment
from app.web.pagination import PageQuery, sort_field
from app.web.shapes import CamelSchema

_CHANNELS = ("voice", "chat", "voice_bot")


class ScorecardQuery(PageQuery):
    """The filter and the page of the list of scorecards."""

    channel = Choice(_CHANNELS)
    sort = sort_field("createdAt", "name", default="name")


class ScorecardSchema(CamelSchema):
    """A scorecard, as of the version that new evaluations use."""

    id = fields.String(required=True, metadata={"example": "sc_01m7y8wdeyext86rqr0n83rs5t"})
    name = fields.String(required=True)
    description = fields.String(required=True, allow_none=True)
    channel = Choice(_CHANNELS, required=True)
    version = fields.Integer(required=True)
    is_default = fields.Boolean(
        required=True, metadata={"description": "It ships with the service."}
    )
    pass_threshold = fields.Integer(required=True)
    criteria_count = fields.Integer(required=True)
    created_at = Moment(required=True)
    updated_at = Moment(required=True)


class ScorecardDetailSchema(ScorecardSchema):
    """The same with its sections, criteria, bands and thresholds."""

    definition = fields.Dict(required=True)
