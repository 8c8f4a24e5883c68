"""Schemas of engagements."""

from marshmallow import fields

from app.engagements.enums import EngagementStatus
from app.web.schemas.base import AnswerSchema, CamelSchema
from app.web.schemas.fields import Choice, Pattern, Text, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class EngagementCreate(CamelSchema):
    name = Text(200, low=1, required=True)
    description = Text(4000, multiline=True, allow_none=True)
    type = Pattern(
        "[a-z0-9][a-z0-9_-]{0,63}",
        "type must be a label: lower-case letters, digits, - and _, at most 64 characters.",
        required=True,
    )


class EngagementChange(CamelSchema):
    name = Text(200, low=1)
    description = Text(4000, multiline=True, allow_none=True)
    status = Choice(list(EngagementStatus))


class EngagementQuery(PageQuery):
    sort = sort_field("createdAt", "updatedAt", "name")


class EngagementSchema(AnswerSchema):
    id = fields.String(metadata={"example": "eng_01jd3v8xqkf6r9w2m5t7h4c0pz"})
    name = fields.String()
    description = fields.String(allow_none=True)
    type = fields.String(metadata={"example": "quality_audit"})
    status = Choice(list(EngagementStatus))
    evaluation_count = fields.Integer()
    created_at = Timestamp()
    updated_at = Timestamp()
