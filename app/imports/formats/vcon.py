"""vCon: a container of one conversation: its texts, or else the transcript of its recording."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, BinaryIO

from app.imports.formats import spoken, vcon_transcript
from app.imports.formats.items import BadLine, Fault, Item, Kind, Read, Reading, Unreadable
from app.imports.formats.lines import documents
from app.imports.formats.roles import Roles
from app.imports.formats.subtitles import plain

_NAMES = ("name", "tel", "mailto")


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield a conversation of the texts, or a call of the transcript, for each document."""
    roles = Roles(reading.roles)
    for found in documents(stream):
        if isinstance(found, BadLine):
            yield found
            continue
        line, document = found
        uuid = document.get("uuid")
        external_id = uuid if isinstance(uuid, str) and uuid else reading.external_id
        try:
            yield _record(line, document, external_id, reading.channel, roles)
        except Unreadable as error:
            yield BadLine(line, error.code, error.message, external_id)


def _record(
    line: int, document: dict[str, Any], external_id: str | None, channel: str | None, roles: Roles
) -> Item:
    if not isinstance(document.get("vcon"), str):
        closed = "payload" in document or "ciphertext" in document
        message = "A signed or encrypted vCon is not taken." if closed else "This is not a vCon."
        raise Unreadable(Fault.MALFORMED, message)
    parties, dialogs = _objects(document, "parties"), _objects(document, "dialog")
    fields = {
        "externalId": external_id or spoken.fingerprint("vcon", [parties, dialogs]),
        "subject": document.get("subject"),
        "startedAt": dialogs[0].get("start") if dialogs else None,
    }
    messages = [_message(each, parties, roles) for each in dialogs if each.get("type") == "text"]
    if messages:
        given = {name: value for name, value in fields.items() if value is not None}
        return Item(line, Kind.CONVERSATION, {**given, "messages": messages})
    turns = spoken.bounded(
        vcon_transcript.turns(
            _objects(document, "analysis"), lambda party: role_of(party, parties, roles)
        )
    )
    kind, given = spoken.record(turns, channel=channel, **fields)
    if kind is Kind.VOICE_CALL:
        given.pop("subject", None)
    return Item(line, kind, given)


def role_of(party: object, parties: list[dict[str, Any]], roles: Roles) -> str:
    """Return the role of a party by its index, or of a speaker by name."""
    if isinstance(party, bool) or not isinstance(party, int):
        return roles.of(party)
    if not 0 <= party < len(parties):
        raise Unreadable(Fault.VALIDATION_ERROR, f"There is no party {party}.")
    found = parties[party]
    return roles.of(found.get("role"), names=[found.get(each) for each in _NAMES])


def _message(
    dialog: Mapping[str, Any], parties: list[dict[str, Any]], roles: Roles
) -> dict[str, Any]:
    originator = dialog.get("originator")
    if originator is None:
        # The draft: without an originator, the first of the parties is the one.
        listed = dialog.get("parties")
        originator = listed[0] if isinstance(listed, list) and listed else listed
    message = {"role": role_of(originator, parties, roles), "text": _text(dialog)}
    if dialog.get("start") is not None:
        message["sentAt"] = dialog["start"]
    if isinstance(originator, int) and (name := parties[originator].get("name")):
        message["authorName"] = name
    return message


def _text(dialog: Mapping[str, Any]) -> str:
    body = dialog.get("body")
    if not isinstance(body, str):
        raise Unreadable(Fault.MALFORMED, "A text must stand in the vCon itself.")
    if dialog.get("encoding") == "base64url":
        try:
            padded = body + "=" * (-len(body) % 4)
            body = base64.urlsafe_b64decode(padded.encode()).decode("utf-8", "strict")
        except (binascii.Error, ValueError) as error:
            raise Unreadable(Fault.MALFORMED, "A text cannot be decoded.") from error
    kind = str(dialog.get("mediatype") or dialog.get("mimetype") or "text/plain")
    return plain(body) if kind.startswith("text/html") else body


def _objects(document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = document.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unreadable(Fault.MALFORMED, f"{name} must be a list of objects.")
    return found
