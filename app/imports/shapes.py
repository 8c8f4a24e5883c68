"""Schema fields that all records share."""

from app.imports.external_ids import FORM, HINT
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Labels, Pattern, Text


class NamedUpsert(CamelSchema):
    """A record with a name; what is left out takes its default, also where it had a value."""

    external_id = Pattern(FORM, HINT, metadata={"description": "Equal to the one in the path."})
    name = Text(200, low=1, required=True)
    labels = Labels(load_default=dict)
