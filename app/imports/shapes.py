"""What the shapes of all kinds share."""

from app.imports.external_ids import FORM, HINT
from app.web.fields import Labels, Pattern, Text
from app.web.shapes import CamelSchema


class NamedUpsert(CamelSchema):
    """A record with a name; what is left out takes its default, also where it had a value."""

    external_id = Pattern(FORM, HINT, metadata={"description": "Equal to the one in the path."})
    name = Text(200, low=1, required=True)
    labels = Labels(load_default=dict)
