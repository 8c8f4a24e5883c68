"""JSON Schemas of events, made of the types of their data."""

from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from app.core.ids import SUFFIX
from app.events.catalogue import CATALOGUE, EventType, example_of


@cache
def described_types() -> list[dict[str, object]]:
    """Return the catalogue as the API shows it: type, description, schema and example."""
    return [
        {
            "event": event.value,
            "description": entry.description,
            "schema": schema_of(event),
            "example": example_of(event),
        }
        for event, entry in CATALOGUE.items()
    ]


@cache
def schema_of(event: EventType) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the body of an event."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": event.value,
        "description": CATALOGUE[event].description,
        **_object(
            {
                "id": {"type": "string", "pattern": f"^evt_{SUFFIX}$"},
                "event": {"const": event.value},
                "timestamp": {"type": "string", "format": "date-time"},
                "data": _data_schema(CATALOGUE[event].data_type),
            },
            optional=frozenset(),
        ),
    }


_JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _data_schema(data_type: type) -> dict[str, Any]:
    hints = get_type_hints(data_type, include_extras=True)
    optional: frozenset[str] = data_type.__optional_keys__  # type: ignore[attr-defined]
    plain = get_type_hints(data_type)
    return _object(
        {
            name: _schema_of_hint(hint if name not in optional else plain[name])
            for name, hint in hints.items()
        },
        optional=optional,
    )


def _object(properties: dict[str, Any], *, optional: frozenset[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _schema_of_hint(hint: Any) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {**_schema_of_hint(arguments[0]), **arguments[1]}
    if is_typeddict(hint):
        return _data_schema(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema_of_hint(arguments[0])}
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return {"anyOf": [_schema_of_hint(inner), {"type": "null"}]}
    return {"type": _JSON_TYPES[hint]}
