"""Base schemas and checks that several kinds of records share."""

from typing import Any

from marshmallow import validates_schema

from app.core.json_documents import camel_case
from app.imports.external_ids import MESSAGE, PATTERN
from app.imports.loading.named_references import NAMED_REFERENCES
from app.web.schemas.base import RANGE, CamelSchema, reject
from app.web.schemas.fields import Labels, Pattern, Text


class RecordUpsert(CamelSchema):
    """A record under the caller's own key; omitted fields are set to their defaults."""

    external_id = Pattern(
        PATTERN, MESSAGE, metadata={"description": "Equal to the one in the path."}
    )
    labels = Labels(load_default=dict)


class NamedUpsert(RecordUpsert):
    """A record with a name."""

    name = Text(200, low=1, required=True)


class ReferencesByName(CamelSchema):
    """A record whose references may be given by name; subclasses declare the fields."""

    @validates_schema
    def _check_names(self, data: dict[str, Any], **_: Any) -> None:
        for field, reference in NAMED_REFERENCES.items():
            if data.get(reference.attribute) and data.get(reference.column):
                raise reject(field, f"Give {field} or {reference.id_field}, not both.")


def reference_name() -> Text:
    """Return the field of a name that replaces an id."""
    return Text(200, low=1, metadata={"description": "A name in place of the id."})


def pop_names(values: dict[str, Any]) -> dict[str, str]:
    """Remove the names from loaded values; return them by the API's field."""
    names = {
        field: values.pop(reference.attribute, None)
        for field, reference in NAMED_REFERENCES.items()
    }
    return {field: name for field, name in names.items() if name is not None}


def require_order(data: dict[str, Any], first: str, last: str) -> None:
    """Refuse an end before its start; a missing value is allowed."""
    start, end = data.get(first), data.get(last)
    if start is not None and end is not None and end < start:
        field = camel_case(last)
        raise reject(field, f"{field} must not be before {camel_case(first)}.", code=RANGE)


def require_distinct(data: dict[str, Any], name: str) -> None:
    """Refuse a list with the same member twice."""
    members = data.get(name, ())
    if len(set(members)) < len(members):
        field = camel_case(name)
        raise reject(field, f"{field} must not contain the same value twice.")
