"""Forms: read by marshmallow schemas, so that a page checks what the API checks."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError

from app.core.errors import InvalidInput
from app.web.schemas.messages import details_of


def load(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Load the values of a form or a query; an empty field counts as not given.

    Raises:
        InvalidInput: its details name each field; `field_errors` makes messages of them.
    """
    known = {field.data_key or name for name, field in schema.load_fields.items()}
    return load_document(
        schema, {name: values[name] for name in known & set(values) if values[name] != ""}
    )


def load_document(schema: Schema, document: Mapping[str, Any]) -> dict[str, Any]:
    """Load a document as the API loads a body: unknown fields are refused.

    Raises:
        InvalidInput: its details name each field.
    """
    try:
        loaded: dict[str, Any] = schema.load(document)
    except ValidationError as error:
        raise InvalidInput(details=details_of({"form": error.messages_dict})) from error
    return loaded


def field_errors(error: InvalidInput) -> dict[str, str]:
    """Return the message of each field, to be shown next to it.

    A message about a member, such as `scopes[0]`, is also the message of its field.
    """
    messages = {detail["field"]: detail["message"] for detail in error.details}
    return {**{_root(field): text for field, text in messages.items()}, **messages}


def _root(field: str) -> str:
    return re.split(r"[.\[]", field, maxsplit=1)[0]
