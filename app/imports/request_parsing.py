"""Request parsing of imports: documents and options from a request body or a command line."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.core.database.upserts import normalised_external_id
from app.core.errors import InvalidInput
from app.core.ids import is_id
from app.evaluations.sources import REFERENCES
from app.imports.files import key_of
from app.imports.formats.catalogue import ONE_RECORD_FORMATS, detect_format
from app.imports.loading.input import ImportOptions

_TEXT_FORMATS = frozenset({"vtt", "srt"})
_COMMON_OPTIONS = ("evaluate", "on_conflict", "create_missing", "dry_run", "columns", "preset")
_ID_FIELDS = {reference.column: reference.field for reference in REFERENCES}
_ID_PREFIXES = {"engagement": "eng", "campaign": "camp", "call_center": "cc", "executive": "exec"}


def documents_from_body(body: Mapping[str, Any]) -> list[dict[str, str | None]]:
    """Turn `items` or `content` into documents that a worker can read again.

    Items become one document with one object a line, so that line numbers count items.
    """
    if "content" in body:
        return [_document(body["content"])]
    if body["format"] in _TEXT_FORMATS:
        return [_text_document(index, item) for index, item in enumerate(body["items"])]
    return [_document("\n".join(json.dumps(item) for item in body["items"]))]


def documents_from_file(name: str, data: bytes) -> tuple[str, list[dict[str, str | None]]]:
    """Return the format of a file that was sent, and the file as a document."""
    detected = detect_format(data, name)
    if detected is None:
        message = f"The format of {name} is unknown: it is not a file of conversations."
        raise InvalidInput.field("file", message, code="FORMAT")
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name} is no UTF-8 text: save it as UTF-8."
        raise InvalidInput.field("file", message, code="FORMAT") from error
    return detected, [_document(content, key_of(name) if detected in ONE_RECORD_FORMATS else None)]


def options_from_body(body: Mapping[str, Any], engagement_types: Sequence[str]) -> ImportOptions:
    defaults = {name: value for name, value in body["defaults"].items() if value is not None}
    roles = defaults.pop("roles", {})
    return ImportOptions(
        defaults={_ID_FIELDS.get(name, name): value for name, value in defaults.items()},
        roles=roles,
        scorecard_id=body["scorecard_id"],
        timezone=str(body["timezone"]) if body["timezone"] else None,
        **_common_options(body, engagement_types),
    )


def options_from_command(
    arguments: Mapping[str, Any], engagement_types: Sequence[str]
) -> ImportOptions:
    """Read the options of a command line; an argument in the form of an id is an id, else a name."""
    defaults: dict[str, str] = {}
    for reference in REFERENCES:
        value = arguments[reference.name]
        if value is not None:
            is_by_id = is_id(value, _ID_PREFIXES[reference.name])
            defaults[reference.field if is_by_id else reference.name_field] = value
    for name in ("channel", "direction", "language", "platform"):
        if arguments[name] is not None:
            defaults[name] = arguments[name]
    return ImportOptions(
        defaults=defaults,
        roles=arguments["roles"],
        scorecard_id=arguments["scorecard"],
        timezone=arguments["timezone"],
        **_common_options(arguments, engagement_types),
    )


def _common_options(given: Mapping[str, Any], engagement_types: Sequence[str]) -> dict[str, Any]:
    return {
        **{name: given[name] for name in _COMMON_OPTIONS},
        # The first of the configured types; without a list every type is allowed.
        "engagement_type": next(iter(engagement_types), "imported"),
    }


def _text_document(index: int, item: Mapping[str, Any]) -> dict[str, str | None]:
    path = f"items[{index}]"
    unknown = set(item) - {"externalId", "content"}
    if unknown:
        raise InvalidInput.field(
            f"{path}.{min(unknown)}", "There is no such field.", code="UNKNOWN"
        )
    content, external_id = item.get("content"), item.get("externalId")
    if not isinstance(content, str):
        raise InvalidInput.field(f"{path}.content", "content must be a string.", code="TYPE")
    if external_id is not None and not isinstance(external_id, str):
        raise InvalidInput.field(f"{path}.externalId", "externalId must be a string.", code="TYPE")
    return _document(content, normalised_external_id(external_id) if external_id else None)


def _document(content: str, external_id: str | None = None) -> dict[str, str | None]:
    return {"content": content, "externalId": external_id}
