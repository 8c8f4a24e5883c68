"""Forms: read by marshmallow schemas, so that a page checks what the API checks."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import Schema

from app.core.errors import InvalidInput
from app.web.schemas.base import load_valid

# The location of a form's fields in the details of an error.
LOCATION = "form"


def load(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Load the values of a form or a query; an empty field counts as not given.

    Raises:
        InvalidInput: its details name each field; `field_errors` makes messages of them.
    """
    known = {field.data_key or name for name, field in schema.load_fields.items()}
    document = {name: values[name] for name in known & set(values) if values[name] != ""}
    return load_valid(schema, document, location=LOCATION)


def field_errors(error: InvalidInput) -> dict[str, str]:
    """Return the message of each field, to be shown next to it.

    A message about a member, such as `scopes[0]`, is also the message of its field.
    """
    messages = {detail["field"]: detail["message"] for detail in error.details}
    roots = {re.split(r"[.\[]", field, maxsplit=1)[0]: text for field, text in messages.items()}
    return {**roots, **messages}
