"""Readers of one JSON object a line: the native form, and chat completions."""

from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from app.evaluations.enums import MAX_MESSAGES
from app.imports.formats.lines import json_lines, read_documents
from app.imports.formats.records import (
    TOO_MANY_MESSAGES,
    BadLine,
    Entries,
    Fault,
    Kind,
    NativeRecord,
    ReaderOptions,
    RoleResolver,
    Unreadable,
    conversation_of,
    fingerprint,
)

_KINDS = frozenset(Kind)
_TURN_FIELDS = {Kind.CONVERSATION: "messages", Kind.VOICE_CALL: "turns"}
# The assistant is a bot. The customer sees no instructions and no results of tools.
_FORMAT_WORDS = {
    "user": "customer",
    "assistant": "bot",
    "developer": "system",
    "tool": "system",
    "function": "system",
}
_INTERNAL_ROLES = frozenset({"system", "developer", "tool", "function"})
_ID_FIELDS = ("externalId", "conversation_id", "id")


def read_native(stream: BinaryIO, options: ReaderOptions) -> Entries:
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


def read_openai(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield a conversation for each `{"messages": [{"role", "content"}]}`.

    Without an id its key is a hash of the messages.
    """
    roles = RoleResolver(options.roles, _FORMAT_WORDS)
    return read_documents(json_lines(stream), _external_id_of, partial(_record_of, roles=roles))


def _record_of(
    line: int, document: dict[str, Any], external_id: str | None, *, roles: RoleResolver
) -> NativeRecord:
    messages = list(_messages_of(document.get("messages"), roles))
    external_id = external_id or fingerprint("openai", document["messages"])
    return conversation_of(line, messages, externalId=external_id)


def _messages_of(messages: object, roles: RoleResolver) -> Iterator[dict[str, Any]]:
    if not isinstance(messages, list):
        raise Unreadable(Fault.MALFORMED, "messages must be a list.")
    if len(messages) > MAX_MESSAGES:
        raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES)
    for message in messages:
        if not isinstance(message, dict):
            raise Unreadable(Fault.MALFORMED, "Each message must be an object.")
        text = _text_of(message.get("content"))
        if text.strip():
            yield _native_message(message, text, roles)


def _native_message(message: dict[str, Any], text: str, roles: RoleResolver) -> dict[str, Any]:
    role, name = message.get("role"), message.get("name")
    native: dict[str, Any] = {"role": roles.role_of(role, names=[name]), "text": text}
    if role in _INTERNAL_ROLES:
        native["internal"] = True
    if isinstance(name, str):
        native["authorName"] = name
    return native


def _text_of(content: object) -> str:
    """Return the text of a message, which may have several parts; a tool call has no text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    raise Unreadable(Fault.MALFORMED, "content must be a string or a list of parts.")


def _external_id_of(document: dict[str, Any]) -> str | None:
    ids = (document.get(field) for field in _ID_FIELDS)
    return next((value for value in ids if isinstance(value, str) and value), None)
