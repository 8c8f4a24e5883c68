"""Reader of vCon: a container with the texts of a conversation, or the transcript of a call."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from app.imports.formats.lines import json_documents, read_documents
from app.imports.formats.records import (
    Entries,
    Fault,
    NativeRecord,
    ReaderOptions,
    RoleResolver,
    TimedTurn,
    Unreadable,
    collect_turns,
    conversation_of,
    fingerprint,
    record_of,
    require_order,
)
from app.imports.formats.subtitles import plain_text

_NAME_FIELDS = ("name", "tel", "mailto")
_LIST_FIELDS = ("segments", "transcript", "utterances")
_MAX_SECONDS = 10_000_000


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
        return conversation_of(line, messages, **fields)
    analyses = _objects_in(document, "analysis")
    turns = collect_turns(
        _transcript_turns(analyses, lambda party: _role_of(party, parties, roles))
    )
    return record_of(line, turns, channel=channel, **fields)


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


def _transcript_turns(
    analyses: Sequence[Mapping[str, Any]], role_of: Callable[[object], str]
) -> Iterator[TimedTurn]:
    """Yield the turns of the first transcript.

    The transcript is a list of objects, or an object with a list in `segments`, `transcript` or
    `utterances`, which may be in `results` as Deepgram has them. Each object has `text`, `message`
    or `transcript`, `party` (an index) or `speaker`, and may have `start` and `end` in seconds, and
    `words` with the same.
    """
    transcripts = (analysis for analysis in analyses if analysis.get("type") == "transcript")
    transcript = next(transcripts, None)
    for segment in _segments_of(transcript.get("body")) if transcript is not None else ():
        text = _first_of(segment, "text", "message", "transcript")
        if not isinstance(text, str) or not text.strip():
            continue
        start_ms, end_ms = _milliseconds(segment.get("start")), _milliseconds(segment.get("end"))
        require_order(start_ms, end_ms)
        party = segment.get("party")
        speaker = segment.get("speaker") if party is None else party
        name = speaker if isinstance(speaker, str) else None
        words = [_word_of(word) for word in _objects_in(segment, "words")]
        yield TimedTurn(role_of(speaker), text, start_ms, end_ms, name, words)


def _word_of(word: Mapping[str, Any]) -> dict[str, Any]:
    """Read a word as Deepgram or Whisper has it."""
    text = _first_of(word, "punctuated_word", "word", "text")
    start_ms, end_ms = _milliseconds(word.get("start")), _milliseconds(word.get("end"))
    if not isinstance(text, str) or start_ms is None or end_ms is None:
        raise Unreadable(Fault.MALFORMED, "Each word must have its text, start and end.")
    confidence = _first_of(word, "confidence", "probability")
    known = {} if confidence is None else {"confidence": confidence}
    return {"text": text.strip(), "startMs": start_ms, "endMs": end_ms, **known}


def _first_of(document: Mapping[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)


def _segments_of(body: object) -> list[dict[str, Any]]:
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError) as error:
            message = "The transcript must be JSON with a speaker for each text."
            raise Unreadable(Fault.MALFORMED, message) from error
    if isinstance(body, dict) and isinstance(body.get("results"), dict):
        body = body["results"]
    if isinstance(body, dict):
        body = next((body[field] for field in _LIST_FIELDS if field in body), None)
    if not isinstance(body, list) or not all(isinstance(segment, dict) for segment in body):
        raise Unreadable(Fault.MALFORMED, "The form of the transcript is unknown.")
    return body


def _milliseconds(seconds: object) -> int | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise Unreadable(Fault.VALIDATION_ERROR, "start and end must be numbers of seconds.")
    if not 0 <= seconds <= _MAX_SECONDS:
        message = f"start and end must be between 0 and {_MAX_SECONDS} seconds."
        raise Unreadable(Fault.VALIDATION_ERROR, message)
    return round(seconds * 1000)
