"""The native form: one JSON object a line."""

from typing import Any, BinaryIO

from app.imports.formats.items import BadLine, Fault, Item, Kind, Read, Reading
from app.imports.formats.lines import json_lines
from app.imports.formats.roles import Roles

_KINDS = frozenset(Kind)
_SPOKEN = {Kind.CONVERSATION: "messages", Kind.VOICE_CALL: "turns"}


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield each record as it stands; only its kind is looked at, and its speakers are mapped."""
    roles = Roles(reading.roles)
    for found in json_lines(stream):
        if isinstance(found, BadLine):
            yield found
            continue
        line, fields = found
        kind = fields.pop("kind", Kind.CONVERSATION)
        if not isinstance(kind, str) or kind not in _KINDS:
            message = f"kind must be one of {', '.join(Kind)}."
            yield BadLine(line, Fault.UNKNOWN_KIND, message, _external_id(fields))
            continue
        if reading.roles and (spoken := _SPOKEN.get(Kind(kind))):
            _map_roles(fields.get(spoken), roles)
        yield Item(line, kind, fields)


def _map_roles(spoken: Any, roles: Roles) -> None:
    """Replace the words that the map knows; the others are for the check to refuse."""
    for each in spoken if isinstance(spoken, list) else ():
        if isinstance(each, dict):
            each["role"] = roles.mapped(each.get("role")) or each.get("role")


def _external_id(fields: dict[str, Any]) -> str | None:
    external_id = fields.get("externalId")
    return external_id if isinstance(external_id, str) else None
