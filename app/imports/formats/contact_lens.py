"""Reader of Amazon Contact Lens: the analysis of one call or chat in each JSON document."""

from collections.abc import Iterator, Mapping
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

_FORMAT_WORDS = {"CUSTOM_BOT": "bot"}


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield a call for each document, or a conversation if the channel is chat."""
    roles = RoleResolver(options.roles, _FORMAT_WORDS)
    return read_documents(
        json_documents(stream),
        lambda document: _contact_id_of(document) or options.external_id,
        partial(_record_of, channel=options.channel, roles=roles),
    )


def _record_of(
    line: int,
    document: dict[str, Any],
    external_id: str | None,
    *,
    channel: str | None,
    roles: RoleResolver,
) -> NativeRecord:
    transcript = document.get("Transcript")
    if not isinstance(transcript, list):
        raise Unreadable(Fault.MALFORMED, "Transcript must be a list.")
    external_id = external_id or fingerprint("contact-lens", transcript)
    participant_roles = _participant_roles(document.get("Participants"))
    fields: dict[str, Any] = {"externalId": external_id, "language": document.get("LanguageCode")}
    if document.get("Channel") == "CHAT":
        messages = list(_messages_of(transcript, participant_roles, roles))
        return conversation_of(line, messages, **fields)
    turns = collect_turns(_turns_of(transcript, participant_roles, roles))
    duration_s = _duration_s(document.get("ConversationCharacteristics"))
    return record_of(line, turns, channel=channel, durationSeconds=duration_s, **fields)


def _turns_of(
    transcript: list[Any], participant_roles: Mapping[str, str], roles: RoleResolver
) -> Iterator[TimedTurn]:
    for turn in _turns_with_text(transcript):
        start_ms = _milliseconds(turn, "BeginOffsetMillis")
        end_ms = _milliseconds(turn, "EndOffsetMillis")
        require_order(start_ms, end_ms)
        role = _role_of(turn, participant_roles, roles)
        words = list(_words_of(turn.get("Items")))
        yield TimedTurn(role, turn["Content"], start_ms, end_ms, turn.get("DisplayName"), words)


def _words_of(items: object) -> Iterator[dict[str, Any]]:
    """Yield the words of a turn; punctuation has no times and belongs to the word before it."""
    word: dict[str, Any] = {}
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict) or not isinstance(item.get("Content"), str):
            raise Unreadable(Fault.MALFORMED, "Each item of a turn must have its Content.")
        start_ms = _milliseconds(item, "BeginOffsetMillis")
        end_ms = _milliseconds(item, "EndOffsetMillis")
        if start_ms is None or end_ms is None:
            if word:
                word["text"] += item["Content"]
            continue
        require_order(start_ms, end_ms)
        if word:
            yield word
        word = {"text": item["Content"], "startMs": start_ms, "endMs": end_ms}
        if isinstance(item.get("Confidence"), int | float):
            word["confidence"] = item["Confidence"]
    if word:
        yield word


def _messages_of(
    transcript: list[Any], participant_roles: Mapping[str, str], roles: RoleResolver
) -> Iterator[dict[str, Any]]:
    for turn in _turns_with_text(transcript):
        message = {"role": _role_of(turn, participant_roles, roles), "text": turn["Content"]}
        if turn.get("DisplayName"):
            message["authorName"] = turn["DisplayName"]
        if turn.get("AbsoluteTime") is not None:
            message["sentAt"] = turn["AbsoluteTime"]
        yield message


def _turns_with_text(transcript: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the turns with text, without events and cards."""
    for turn in transcript:
        if not isinstance(turn, dict):
            raise Unreadable(Fault.MALFORMED, "Each turn must be an object.")
        content, content_type = turn.get("Content"), turn.get("ContentType", "text/plain")
        if isinstance(content, str) and content.strip() and str(content_type).startswith("text/"):
            yield turn


def _role_of(
    turn: Mapping[str, Any], participant_roles: Mapping[str, str], roles: RoleResolver
) -> str:
    participant = turn.get("ParticipantId")
    listed_role = participant_roles.get(participant) if isinstance(participant, str) else None
    return roles.role_of(
        turn.get("ParticipantRole"),
        listed_role,
        participant,
        names=[turn.get("DisplayName"), participant],
    )


def _participant_roles(participants: object) -> dict[str, str]:
    roles = {}
    for participant in participants if isinstance(participants, list) else ():
        if isinstance(participant, dict):
            participant_id = participant.get("ParticipantId")
            role = participant.get("ParticipantRole")
            if isinstance(participant_id, str) and isinstance(role, str):
                roles[participant_id] = role
    return roles


def _milliseconds(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unreadable(Fault.VALIDATION_ERROR, f"{name} must be an integer of at least 0.")
    return value


def _duration_s(characteristics: object) -> int | None:
    if not isinstance(characteristics, dict):
        return None
    duration_ms = _milliseconds(characteristics, "TotalConversationDurationMillis")
    return None if duration_ms is None else round(duration_ms / 1000)


def _contact_id_of(document: Mapping[str, Any]) -> str | None:
    metadata = document.get("CustomerMetadata")
    contact_id = metadata.get("ContactId") if isinstance(metadata, dict) else None
    return contact_id if isinstance(contact_id, str) and contact_id else None
