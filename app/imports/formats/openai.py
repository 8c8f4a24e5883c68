"""Chat-completion messages, one JSON object a line: `{"messages": [{"role", "content"}]}`."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from app.imports.formats import spoken
from app.imports.formats.items import (
    MOST_MESSAGES,
    BadLine,
    Fault,
    Item,
    Kind,
    Read,
    Reading,
    Unreadable,
)
from app.imports.formats.lines import json_lines
from app.imports.formats.roles import Roles

# The format's own words: the assistant is a machine, and what only it and its tools see is not said.
WORDS = {
    "user": "customer",
    "assistant": "bot",
    "developer": "system",
    "tool": "system",
    "function": "system",
}
_UNSAID = frozenset({"system", "developer", "tool", "function"})
_IDS = ("externalId", "conversation_id", "id")


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield a conversation for each line; without an id it is known by a hash of what was said."""
    roles = Roles(reading.roles, WORDS)
    for found in json_lines(stream):
        if isinstance(found, BadLine):
            yield found
            continue
        line, document = found
        external_id = _external_id(document)
        try:
            messages = list(_messages(document.get("messages"), roles))
            if not messages:
                raise Unreadable(Fault.NO_MESSAGES, "Nobody says anything here.")
        except Unreadable as error:
            yield BadLine(line, error.code, error.message, external_id)
            continue
        external_id = external_id or spoken.fingerprint("openai", document["messages"])
        fields: dict[str, Any] = {"externalId": external_id, "messages": messages}
        yield Item(line, Kind.CONVERSATION, fields)


def _messages(found: object, roles: Roles) -> Iterator[dict[str, Any]]:
    if not isinstance(found, list):
        raise Unreadable(Fault.MALFORMED, "messages must be a list.")
    if len(found) > MOST_MESSAGES:
        message = f"One conversation may have at most {MOST_MESSAGES} messages."
        raise Unreadable(Fault.TOO_LONG, message)
    for each in found:
        if not isinstance(each, dict):
            raise Unreadable(Fault.MALFORMED, "A message must be an object.")
        text = _text(each.get("content"))
        if not text.strip():
            continue
        word = each.get("role")
        message_of: dict[str, Any] = {
            "role": roles.of(word, names=[each.get("name")]),
            "text": text,
        }
        if word in _UNSAID:
            message_of["internal"] = True
        if isinstance(each.get("name"), str):
            message_of["authorName"] = each["name"]
        yield message_of


def _text(content: object) -> str:
    """Return the text of a message, which may come in parts; a call of a tool has none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise Unreadable(Fault.MALFORMED, "content must be a text or a list of parts.")


def _external_id(document: dict[str, Any]) -> str | None:
    return next(
        (value for name in _IDS if isinstance(value := document.get(name), str) and value), None
    )
