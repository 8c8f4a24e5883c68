"""Schemas of call centres and executives."""

from marshmallow import fields, validate

from app.directory.enums import ExecutiveKind
from app.web.schemas.base import FORMAT, AnswerSchema, CodedMessage
from app.web.schemas.fields import Choice, Reference, Text, Timestamp
from app.web.schemas.records import NamedUpsert, ReferenceName


class CallCenterSchema(AnswerSchema):
    id = fields.String(metadata={"example": "cc_01k9zq2m5rt9w3x7b1f6e8nvha"})
    external_id = fields.String(allow_none=True)
    name = fields.String()
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    created_at = Timestamp()
    updated_at = Timestamp()


class ExecutiveSchema(AnswerSchema):
    id = fields.String(metadata={"example": "exec_01k9zq2x8ha4j6k0m3p5q7stvw"})
    external_id = fields.String(allow_none=True)
    name = fields.String()
    kind = Choice(list(ExecutiveKind))
    call_center_id = fields.String(allow_none=True)
    email = fields.String(allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    created_at = Timestamp()
    updated_at = Timestamp()


class CallCenterUpsert(NamedUpsert):
    """A call centre of another system."""


class ExecutiveUpsert(NamedUpsert):
    kind = Choice(list(ExecutiveKind), load_default="human")
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    call_center = ReferenceName()
    email = Text(
        254,
        allow_none=True,
        load_default=None,
        validate=validate.Regexp(
            r"[^@\s]+@[^@\s]+\Z", error=CodedMessage(FORMAT, "This must be an e-mail address.")
        ),
    )
