"""Schemas of erasures."""

from marshmallow import fields

from app.web.schemas.base import AnswerSchema, CamelSchema, StoredAnswerSchema
from app.web.schemas.fields import Choice, Nested, Text, Timestamp


class EraseRequest(CamelSchema):
    customer_ref = Text(200, low=1, required=True)


class ErasedCountsSchema(StoredAnswerSchema):
    """Number of erased records by type."""

    conversations = fields.Integer()
    voice_calls = fields.Integer()
    audio_files = fields.Integer()
    evaluations = fields.Integer()
    exports = fields.Integer()


class ErasureFailureSchema(AnswerSchema):
    code = fields.String()
    message = fields.String()


class ErasureSchema(AnswerSchema):
    """An erasure and its counts so far; it does not show the customer."""

    erasure_id = fields.String(metadata={"example": "era_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(("queued", "running", "completed", "failed"))
    counts = Nested(ErasedCountsSchema)
    requested_by = fields.String()
    created_at = Timestamp()
    completed_at = Timestamp(allow_none=True)
    error = Nested(ErasureFailureSchema, allow_none=True)
