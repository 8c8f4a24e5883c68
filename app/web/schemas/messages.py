"""Validation messages with a code for `error.details`."""

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields

from app.core.errors import Detail, InvalidInput

REQUIRED, TYPE, RANGE, LENGTH, FORMAT, UNKNOWN, ENUM = (
    "REQUIRED",
    "TYPE",
    "RANGE",
    "LENGTH",
    "FORMAT",
    "UNKNOWN",
    "ENUM",
)


class CodedMessage(str):
    """A message with a code; marshmallow treats it as a string."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> "CodedMessage":
        """Make a message from its code and its text."""
        message = super().__new__(cls, text)
        message.code = code
        return message

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return (CodedMessage, (self.code, str(self)))

    def format(self, *args: object, **kwargs: object) -> "CodedMessage":
        """Fill in the placeholders and keep the code."""
        return CodedMessage(self.code, str.format(self, *args, **kwargs))


def load_valid(schema: Schema, document: Mapping[str, Any], *, location: str) -> dict[str, Any]:
    """Load a document.

    Raises:
        InvalidInput: naming each invalid field of the location.
    """
    try:
        values: dict[str, Any] = schema.load(document)
    except ValidationError as error:
        raise InvalidInput(details=details_of({location: error.messages_dict})) from error
    return values


def text_fields(schema: Schema) -> set[str]:
    """Return the names of the fields that are texts."""
    return {
        field.data_key or name
        for name, field in schema.fields.items()
        if isinstance(field, fields.String)
    }


def details_of(messages: Mapping[str, Any]) -> list[Detail]:
    """Flatten marshmallow's `{location: {field: …}}` into details, fields as `a.b[0]`."""
    details: list[Detail] = []
    for location, tree in messages.items():
        for field, message in _leaves(tree, ""):
            code = getattr(message, "code", FORMAT)
            details.append(Detail(location=location, field=field, code=code, message=str(message)))
    return details


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        for name, branch in tree.items():
            yield from _leaves(branch, _join(path, name))
    elif isinstance(tree, list):
        for branch in tree:
            yield from _leaves(branch, path)
    else:
        yield path, tree


def _join(path: str, name: object) -> str:
    if name == "_schema":
        return path
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else str(name)
