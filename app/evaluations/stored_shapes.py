"""The base of shapes that are stored as they are shown."""

from typing import Any

from marshmallow import fields

from app.web.shapes import CamelSchema


class StoredSchema(CamelSchema):
    """Shows documents whose keys bear the outer names already."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Read each value under the name under which it is shown."""
        super().on_bind_field(field_name, field_obj)
        field_obj.attribute = field_obj.data_key
