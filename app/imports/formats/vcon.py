"""Reader of vCon: a container with the texts of a conversation, or the transcript of a call."""

import base64
import binascii
from collections.abc import Mapping
from functools import partial
from typing import Any, BinaryIO

from app.imports.formats.lines import json_documents, read_documents
from app.imports.formats.records import (
    Entries,
    Fault,
    Kind,
    NativeRecord,
    ReaderOptions,
    Unreadable,
)
from app.imports.formats.roles import RoleResolver
from app.imports.formats.subtitles import plain_text
from app.imports.formats.timed_turns import collect_turns, fingerprint, record_of, without_nulls
from app.imports.formats.vcon_transcript import transcript_turns

_NAME_FIELDS = ("name", "tel", "mailto")


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield a conversation of the texts, or a call of the transcript, for each document."""

    def external_id_of(document: Mapping[str, Any]) -> str | None:
        uuid = document.get("uuid")
        return uuid if isinstance(uuid, str) and uuid else options.external_id

    roles = RoleResolver(options.roles)
    record_of_document = partial(_record_of, channel=options.channel, roles=roles)
    return read_documents(json_documents(stream), external_id_of, record_of_document)


def _record_of(
    line: int,
    document: dict[str, Any],
    external_id: str | None,
    *,
    channel: str | None,
    roles: RoleResolver,
) -> NativeRecord:
    if not isinstance(document.get("vcon"), str):
        is_sealed = "payload" in document or "ciphertext" in document
        message = (
            "Signed and encrypted vCons are not supported."
            if is_sealed
            else "The document is not a vCon."
        )
        raise Unreadable(Fault.MALFORMED, message)
    parties, dialogs = _objects_in(document, "parties"), _objects_in(document, "dialog")
    fields: dict[str, Any] = {
        "externalId": external_id or fingerprint("vcon", [parties, dialogs]),
        "subject": document.get("subject"),
        "startedAt": dialogs[0].get("start") if dialogs else None,
    }
    messages = [
        _message_of(dialog, parties, roles) for dialog in dialogs if dialog.get("type") == "text"
    ]
    if messages:
        return NativeRecord(
            line, Kind.CONVERSATION, {**without_nulls(fields), "messages": messages}
        )
    analyses = _objects_in(document, "analysis")
    turns = collect_turns(transcript_turns(analyses, lambda party: _role_of(party, parties, roles)))
    kind, fields = record_of(turns, channel=channel, **fields)
    if kind is Kind.VOICE_CALL:
        fields.pop("subject", None)
    return NativeRecord(line, kind, fields)


def _role_of(party: object, parties: list[dict[str, Any]], roles: RoleResolver) -> str:
    """Return the role of a party by its index, or of a speaker by name."""
    if isinstance(party, bool) or not isinstance(party, int):
        return roles.role_of(party)
    if not 0 <= party < len(parties):
        raise Unreadable(Fault.VALIDATION_ERROR, f"parties has no index {party}.")
    fields = parties[party]
    return roles.role_of(fields.get("role"), names=[fields.get(name) for name in _NAME_FIELDS])


def _message_of(
    dialog: Mapping[str, Any], parties: list[dict[str, Any]], roles: RoleResolver
) -> dict[str, Any]:
    originator = dialog.get("originator")
    if originator is None:
        # The vCon draft: the first party is the originator unless another one is named.
        listed = dialog.get("parties")
        originator = listed[0] if isinstance(listed, list) and listed else listed
    message = {"role": _role_of(originator, parties, roles), "text": _text_of(dialog)}
    if dialog.get("start") is not None:
        message["sentAt"] = dialog["start"]
    if isinstance(originator, int) and (name := parties[originator].get("name")):
        message["authorName"] = name
    return message


def _text_of(dialog: Mapping[str, Any]) -> str:
    body = dialog.get("body")
    if not isinstance(body, str):
        raise Unreadable(Fault.MALFORMED, "Each text dialog must have a body.")
    if dialog.get("encoding") == "base64url":
        try:
            padded = body + "=" * (-len(body) % 4)
            body = base64.urlsafe_b64decode(padded.encode()).decode("utf-8", "strict")
        except (binascii.Error, ValueError) as error:
            raise Unreadable(Fault.MALFORMED, "A body is not valid base64url.") from error
    media_type = str(dialog.get("mediatype") or dialog.get("mimetype") or "text/plain")
    return plain_text(body) if media_type.startswith("text/html") else body


def _objects_in(document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    objects = document.get(name) or []
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise Unreadable(Fault.MALFORMED, f"{name} must be a list of objects.")
    return objects
