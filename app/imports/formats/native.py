"""Reader of the native form: one JSON object a line."""

from typing import Any, BinaryIO

from app.imports.formats.lines import json_lines
from app.imports.formats.records import BadLine, Entries, Fault, Kind, NativeRecord, ReaderOptions
from app.imports.formats.roles import RoleResolver

_KINDS = frozenset(Kind)
_TURN_FIELDS = {Kind.CONVERSATION: "messages", Kind.VOICE_CALL: "turns"}


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield each record unchanged, except that mapped roles are replaced."""
    roles = RoleResolver(options.roles)
    for document in json_lines(stream):
        if isinstance(document, BadLine):
            yield document
            continue
        line, fields = document
        kind = fields.pop("kind", Kind.CONVERSATION)
        record = NativeRecord(line, kind, fields)
        if not isinstance(kind, str) or kind not in _KINDS:
            message = f"kind must be one of {', '.join(Kind)}."
            yield BadLine(line, Fault.UNKNOWN_KIND, message, record.external_id)
            continue
        if options.roles and (turn_field := _TURN_FIELDS.get(Kind(kind))):
            _map_roles(fields.get(turn_field), roles)
        yield record


def _map_roles(turns: Any, roles: RoleResolver) -> None:
    """Replace mapped roles; the validation refuses unknown ones."""
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, dict):
            turn["role"] = roles.mapped(turn.get("role")) or turn.get("role")
