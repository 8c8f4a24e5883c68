"""Schema of evidence."""

from marshmallow import fields

from app.evaluations.enums import ROLES
from app.web.schemas.base import StoredSchema
from app.web.schemas.fields import Choice


class EvidenceSchema(StoredSchema):
    """A quote that occurs, character for character, in its segment's text."""

    segment_id = fields.String(required=True)
    start_ms = fields.Integer(required=True, allow_none=True)
    end_ms = fields.Integer(required=True, allow_none=True)
    char_start = fields.Integer(required=True)
    char_end = fields.Integer(required=True)
    quote = fields.String(required=True)
    polarity = Choice(("supports", "contradicts"), required=True)
    role = Choice(ROLES, required=True, metadata={"description": "Who said it."})
