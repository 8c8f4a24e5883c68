"""Base schemas, which refuse unknown fields, and the coded messages of what schemas refuse."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, missing

from app.core.errors import Detail, InvalidInput
from app.core.json_documents import camel_case

# The codes of `error.details`.
REQUIRED, TYPE, RANGE, LENGTH = "REQUIRED", "TYPE", "RANGE", "LENGTH"
FORMAT, UNKNOWN, ENUM = "FORMAT", "UNKNOWN", "ENUM"
# A comparison with all names takes its time.
_MOST_HINTS, _LONGEST_WORD = 10, 100


class CodedMessage(str):
    """A message with a code; marshmallow treats it as a string."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> "CodedMessage":
        message = super().__new__(cls, text)
        message.code = code
        return message

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return (CodedMessage, (self.code, str(self)))

    def format(self, *args: object, **kwargs: object) -> "CodedMessage":
        """Fill in the placeholders and keep the code."""
        return CodedMessage(self.code, str.format(self, *args, **kwargs))


class PlainSchema(Schema):
    """Schema that refuses unknown fields; names as declared (webhooks)."""

    class Meta:
        unknown = RAISE

    error_messages = {
        "unknown": CodedMessage(UNKNOWN, "There is no such field."),
        "type": CodedMessage(TYPE, "This must be an object."),
    }

    def handle_error(
        self, error: ValidationError, data: Any, *, many: bool, **options: Any
    ) -> None:
        """Add the nearest name to an unknown field."""
        known = [field.data_key or name for name, field in self.load_fields.items()]
        objects = error.messages_dict.values() if many else [error.messages]
        for messages in filter(lambda one: isinstance(one, dict), objects):
            unknown = [
                name
                for name, message in messages.items()
                if message == [self.error_messages["unknown"]]
            ]
            for name in unknown[:_MOST_HINTS]:
                hint = did_you_mean(str(name), known)
                messages[name] = [CodedMessage(UNKNOWN, f"{messages[name][0]}{hint}")]


class PlainAnswerSchema(PlainSchema):
    """Schema of what the API answers: every field is always there, besides those in `sometimes`."""

    sometimes: frozenset[str] = frozenset()

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Say in the documentation that the field is there."""
        super().on_bind_field(field_name, field_obj)
        field_obj.required = field_name not in self.sometimes


class Changes(PlainSchema):
    """Schema of the changes to what another schema creates: what is left out stays as it is."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Take the field without requiring it, and without a default."""
        super().on_bind_field(field_name, field_obj)
        field_obj.required, field_obj.load_default = False, missing


class CamelSchema(PlainSchema):
    """Schema that refuses unknown fields; names in camelCase."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Set the camelCase name, unless the field declares another."""
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


class AnswerSchema(PlainAnswerSchema, CamelSchema):
    """Schema of what the API answers, with names in camelCase."""


class StoredSchema(CamelSchema):
    """Schema of stored documents, whose keys are in camelCase already."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Read and write each value under its camelCase name."""
        super().on_bind_field(field_name, field_obj)
        field_obj.attribute = field_obj.data_key


class StoredAnswerSchema(AnswerSchema, StoredSchema):
    """Schema of a part of stored documents that the API answers."""


def about(description: str, **more: Any) -> dict[str, Any]:
    """Return the argument of a field that describes it in the OpenAPI document."""
    return {"metadata": {"description": description, **more}}


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the question about the nearest of these names; empty where none is near."""
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(word[:_LONGEST_WORD].casefold(), folded, n=1)
    return f" Did you mean {folded[near[0]]}?" if near else ""


def not_one_of(what: str, word: str, names: Iterable[str]) -> CodedMessage:
    """Build the message about a word that is not one of these names."""
    listed = list(names)
    hint = did_you_mean(word, listed)
    return CodedMessage(ENUM, f"{what} must be one of {', '.join(listed)}.{hint}")


def reject(field: str, message: str, *, code: str = FORMAT) -> ValidationError:
    return ValidationError({field: [CodedMessage(code, message)]})


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
