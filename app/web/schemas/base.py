"""Base schemas: unknown fields are refused; camelCase is a choice of the base class."""

from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields

from app.web.schemas.messages import FORMAT, TYPE, UNKNOWN, Message


class PlainSchema(Schema):
    """Unknown fields are refused; names as they are declared (webhook shapes)."""

    class Meta:
        """Options that marshmallow reads."""

        unknown = RAISE

    error_messages = {
        "unknown": Message(UNKNOWN, "There is no such field."),
        "type": Message(TYPE, "This must be an object."),
    }


class CamelSchema(PlainSchema):
    """The same with every name in camelCase."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Name the field in camelCase outside, unless it says otherwise."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


class StoredSchema(CamelSchema):
    """Shows and takes documents whose keys bear the outer names already."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Keep each value under the name under which it is shown."""
        super().on_bind_field(field_name, field_obj)
        field_obj.attribute = field_obj.data_key


def camel_case(name: str) -> str:
    """Return the API's spelling of a Python name."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def reject(field: str, message: str, *, code: str = FORMAT) -> ValidationError:
    """Build the error of one field from within a schema's own check."""
    return ValidationError({field: [Message(code, message)]})
