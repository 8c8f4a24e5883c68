"""Base schemas, fields and checks that several kinds of imported records share."""

import re
from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from app.core.json_documents import camel_case
from app.imports.loading.references import (
    EXTERNAL_ID_MESSAGE,
    EXTERNAL_ID_PATTERN,
    NAMED_REFERENCES,
)
from app.web.schemas.base import FORMAT, LENGTH, RANGE, TYPE, CamelSchema, CodedMessage, reject
from app.web.schemas.fields import (
    BASE_MESSAGES,
    MAX_INTEGER,
    Labels,
    LanguageTag,
    Members,
    PastMoment,
    Pattern,
    Reference,
    Text,
)
from app.web.schemas.query_fields import QueryFlag

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


class RecordUpsert(CamelSchema):
    """A record under the caller's own key; omitted fields are set to their defaults."""

    external_id = Pattern(
        EXTERNAL_ID_PATTERN,
        EXTERNAL_ID_MESSAGE,
        metadata={"description": "Equal to the one in the path."},
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


class EvaluateQuery(CamelSchema):
    """The query that asks for an evaluation of the record, or for none."""

    evaluate = QueryFlag(
        metadata={
            "description": "`false`: only store the record. `true`: evaluate an open conversation "
            "too. Omitted: evaluate the record if it has ended."
        }
    )


class ContactUpsert(RecordUpsert, ReferencesByName):
    """A conversation or a voice call of another system; omitted fields are set to defaults."""

    engagement_id = Reference("eng", allow_none=True, load_default=None)
    campaign_id = Reference("camp", allow_none=True, load_default=None)
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    engagement = reference_name()
    campaign = reference_name()
    call_center = reference_name()
    executive = reference_name()
    language = LanguageTag(allow_none=True, load_default=None)
    started_at = PastMoment(allow_none=True, load_default=None)
    ended_at = PastMoment(allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "ended_at")
