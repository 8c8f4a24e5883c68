"""Schemas of imported call centres and executives."""

from marshmallow import validate

from app.directory.enums import ExecutiveKind
from app.imports.schemas.base import NamedUpsert
from app.web.schemas.base import FORMAT, CodedMessage
from app.web.schemas.fields import Choice, Reference, Text


class CallCenterUpsert(NamedUpsert):
    """A call centre of another system."""


class ExecutiveUpsert(NamedUpsert):
    """An executive of another system."""

    kind = Choice(list(ExecutiveKind), load_default="human")
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    email = Text(
        254,
        allow_none=True,
        load_default=None,
        validate=validate.Regexp(
            r"[^@\s]+@[^@\s]+\Z", error=CodedMessage(FORMAT, "This must be an e-mail address.")
        ),
    )
