"""Schemas of records of other systems: their keys, references by name, fields and checks."""

import re
from typing import Any

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.core.database.upserts import EXTERNAL_ID_MESSAGE, EXTERNAL_ID_PATTERN
from app.core.json_documents import camel_case
from app.web.schemas.base import FORMAT, LENGTH, RANGE, TYPE, CamelSchema, CodedMessage, reject
from app.web.schemas.fields import BASE_MESSAGES, MAX_INTEGER, Labels, Members, Pattern, Text

_MAX_VALUES = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class SpokenText(fields.String):
    """Spoken or written text, kept unchanged: emoji and some scripts need invisible joiners."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a string."),
        "control": CodedMessage(FORMAT, "This must not contain control characters."),
    }

    def __init__(self, high: int, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, f"This must have at most {high} characters.")
        super().__init__(validate=validate.Length(max=high, error=error), **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if _CONTROL.search(text):
            raise self.make_error("control")
        return str(text)


class PlainValues(Members):
    """A map of at most 100 names to strings, numbers, booleans or nulls."""

    default_error_messages = {
        "invalid": CodedMessage(
            TYPE, "This must be an object of strings, numbers, booleans or nulls."
        )
    }

    def __init__(self, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, f"This must have at most {_MAX_VALUES} members.")
        super().__init__(
            keys=Text(64, low=1),
            values=_PlainValue(allow_none=True),
            validate=validate.Length(max=_MAX_VALUES, error=error),
            **kwargs,
        )


_VALUE_TEXT = Text(1000, multiline=True)


class _PlainValue(fields.Raw):
    """A string of at most 1,000 characters, a number, or a boolean."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str):
            return _VALUE_TEXT.deserialize(value)
        if not isinstance(value, bool | int | float):
            raise ValidationError(
                CodedMessage(TYPE, "This must be a string, a number or a boolean.")
            )
        if abs(value) > MAX_INTEGER:
            raise ValidationError(CodedMessage(RANGE, "This number is too large."))
        return value


class ReferenceName(Text):
    """A name in place of the id of a reference."""

    def __init__(self) -> None:
        super().__init__(
            200, low=1, allow_none=True, metadata={"description": "A name in place of the id."}
        )


class ReferencesByName(CamelSchema):
    """A record whose references may be given by name, each a `ReferenceName` of a subclass."""

    def name_fields(self) -> set[str]:
        return {name for name, field in self.fields.items() if isinstance(field, ReferenceName)}

    @validates_schema
    def _check_names(self, data: dict[str, Any], **_: Any) -> None:
        for name in sorted(self.name_fields()):
            if data.get(name) and data.get(f"{name}_id"):
                field, id_field = camel_case(name), camel_case(f"{name}_id")
                raise reject(field, f"Give {field} or {id_field}, not both.")

    @post_load
    def _collect_names(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Move the names, which are no columns, into `names`."""
        names = {name: data.pop(name, None) for name in self.name_fields()}
        return {**data, "names": {name: text for name, text in names.items() if text is not None}}


class RecordUpsert(ReferencesByName):
    """A record under the caller's own key; omitted fields are set to their defaults."""

    external_id = Pattern(
        EXTERNAL_ID_PATTERN,
        EXTERNAL_ID_MESSAGE,
        metadata={"description": "Equal to the one in the path."},
    )
    labels = Labels(load_default=dict)


class NamedUpsert(RecordUpsert):
    name = Text(200, low=1, required=True)


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
