"""Request parsing of imports: documents that a worker can read again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.errors import InvalidInput
from app.core.ids import is_id
from app.imports import names
from app.imports.external_ids import agreed
from app.imports.options import Options

_REFERENCES = (
    ("engagement", "eng", "engagement"),
    ("campaign", "camp", "campaign"),
    ("call_center", "cc", "callCenter"),
    ("executive", "exec", "executive"),
)
_TEXT_FORMATS = frozenset({"vtt", "srt"})


def documents_of(body: Mapping[str, Any]) -> list[dict[str, str | None]]:
    """Shape `items` or `content` into documents; one object a line, so that a line is an item.

    Raises:
        InvalidInput: an item is not what its format needs.
    """
    if "content" in body:
        return [_document(body["content"])]
    if body["format"] in _TEXT_FORMATS:
        return [_text(index, each) for index, each in enumerate(body["items"])]
    return [_document("\n".join(json.dumps(each) for each in body["items"]))]


def options_of(body: Mapping[str, Any], engagement_types: Sequence[str]) -> Options:
    """Read what the caller asks beside the records."""
    given = {name: value for name, value in body["defaults"].items() if value is not None}
    roles = given.pop("roles", {})
    return Options(
        defaults={camel(name): value for name, value in given.items()},
        roles=roles,
        evaluate=body["evaluate"],
        scorecard_id=body["scorecard_id"],
        on_conflict=body["on_conflict"],
        create_missing=body["create_missing"],
        dry_run=body["dry_run"],
        engagement_type=engagement_type(engagement_types),
    )


def options_of_command(given: Mapping[str, Any], engagement_types: Sequence[str]) -> Options:
    """Read what a command was given; what has the form of an id is one, and else a name."""
    defaults: dict[str, str] = {}
    for option, prefix, name in _REFERENCES:
        value = given[option]
        if value is not None:
            defaults[names.FIELDS[name].id_field if is_id(value, prefix) else name] = value
    for name in ("channel", "language"):
        if given[name] is not None:
            defaults[name] = given[name]
    return Options(
        defaults=defaults,
        roles=given["roles"],
        evaluate=given["evaluate"],
        scorecard_id=given["scorecard"],
        on_conflict=given["on_conflict"],
        create_missing=given["create_missing"],
        dry_run=given["dry_run"],
        engagement_type=engagement_type(engagement_types),
    )


def engagement_type(known_types: Sequence[str]) -> str:
    """Return the type of engagements that an import makes: of a closed list the first."""
    return next(iter(known_types), "imported")


def camel(name: str) -> str:
    """Write a name as the API does."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _text(index: int, item: Mapping[str, Any]) -> dict[str, str | None]:
    field = f"items[{index}]"
    unknown = set(item) - {"externalId", "content"}
    if unknown:
        name = f"{field}.{min(unknown)}"
        raise InvalidInput.field(name, "There is no such field.", code="UNKNOWN")
    content, external_id = item.get("content"), item.get("externalId")
    if not isinstance(content, str):
        raise InvalidInput.field(f"{field}.content", "This must be a text.", code="TYPE")
    if external_id is not None and not isinstance(external_id, str):
        raise InvalidInput.field(f"{field}.externalId", "This must be a text.", code="TYPE")
    return _document(content, agreed(external_id, None) if external_id else None)


def _document(content: str, external_id: str | None = None) -> dict[str, str | None]:
    return {"content": content, "externalId": external_id}
