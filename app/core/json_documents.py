"""JSON documents: strict loading of what is unambiguous, their digests, and the API's names."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Any

import orjson

from app.core.errors import MalformedRequest

_MAX_DIGITS = 19
_MAX_DEPTH = 32
# A value takes up to some two hundred bytes of memory, however short its text is.
_MAX_VALUES = 1_000_000
_STRING_OR_SIGN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([,:\[{])', re.DOTALL)


def load_object(body: bytes, *, noun: str = "body") -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        noun: the name of the document in error messages.

    Raises:
        MalformedRequest: not UTF-8 JSON, not an object, duplicate keys, NaN or Infinity, integers
            of more than 19 digits, nesting over 32, lone surrogates or NUL in a text, or over a
            million values.
    """
    _require_few_values(body, noun)
    try:
        document = json.loads(
            body.decode("utf-8", "strict"),
            parse_int=_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"The {noun} is not UTF-8.") from error
    except RecursionError as error:
        raise MalformedRequest(f"The {noun} is nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise MalformedRequest(
            f"The {noun} is not JSON: {error.msg.removesuffix(' at')} at byte {error.pos}."
        ) from error
    if not isinstance(document, dict):
        raise MalformedRequest(f"The {noun} must be a JSON object.")
    _check(document, 1)
    return document


def digest_of(value: Any) -> str:
    """Hash a value of JSON types and timestamps, independent of the order of its keys."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def with_api_names(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass under the API's names."""
    return {name: getattr(record, field) for field, name in _names_of(record.__class__)}


def from_api_names(document: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """Return what a document has for the fields of a dataclass, by their own names."""
    return {field: document[name] for field, name in _names_of(kind)}


@cache
def _names_of(kind: Any) -> list[tuple[str, str]]:
    return [(field.name, camel_case(field.name)) for field in fields(kind)]


def _require_few_values(body: bytes, noun: str) -> None:
    """Refuse a document that would take far more memory than its bytes."""
    if sum(map(body.count, (b",", b":", b"[", b"{"))) <= _MAX_VALUES:
        return
    # The commas and colons of texts are not values.
    signs = (match for match in _STRING_OR_SIGN.finditer(body) if match.lastindex)
    if next(islice(signs, _MAX_VALUES, None), None) is not None:
        raise MalformedRequest(f"The {noun} has more than {_MAX_VALUES:,} names and values.")


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise MalformedRequest(f"An integer has more than {_MAX_DIGITS} digits.")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise MalformedRequest(f"{name} is not JSON.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedRequest("An object contains the same key twice.")
    return members


def _check(value: Any, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise MalformedRequest(f"The JSON is nested more than {_MAX_DEPTH} levels deep.")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise MalformedRequest("A number is too large.")
    elif isinstance(value, dict):
        for key, member in value.items():
            _check_text(key)
            _check(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            _check(member, depth + 1)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise MalformedRequest("A string contains the character NUL.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise MalformedRequest("A string contains half of a surrogate pair.")
