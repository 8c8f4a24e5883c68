"""Base schemas: they refuse unknown fields, with camelCase names or names as declared."""

from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields

from app.core.names import camel_case
from app.web.schemas.messages import FORMAT, TYPE, UNKNOWN, CodedMessage


class PlainSchema(Schema):
    """Schema that refuses unknown fields; names as declared (webhooks)."""

    class Meta:
        """Options for marshmallow."""

        unknown = RAISE

    error_messages = {
        "unknown": CodedMessage(UNKNOWN, "There is no such field."),
        "type": CodedMessage(TYPE, "This must be an object."),
    }


class CamelSchema(PlainSchema):
    """Schema that refuses unknown fields; names in camelCase."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Set the camelCase name, unless the field declares another."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


class StoredSchema(CamelSchema):
    """Schema of stored documents, whose keys are in camelCase already."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Read and write each value under its camelCase name."""
        super().on_bind_field(field_name, field_obj)
        field_obj.attribute = field_obj.data_key


def reject(field: str, message: str, *, code: str = FORMAT) -> ValidationError:
    """Build the validation error of one field."""
    return ValidationError({field: [CodedMessage(code, message)]})
