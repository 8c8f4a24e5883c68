"""Amazon Contact Lens: the analysis of a call or a chat, one JSON document each."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from app.imports.formats import spoken
from app.imports.formats.items import BadLine, Fault, Item, Kind, Read, Reading, Unreadable
from app.imports.formats.lines import documents
from app.imports.formats.roles import Roles
from app.imports.formats.spoken import Turn

WORDS = {"CUSTOM_BOT": "bot"}


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield a call, or a conversation where the channel is chat, for each document."""
    roles = Roles(reading.roles, WORDS)
    for found in documents(stream):
        if isinstance(found, BadLine):
            yield found
            continue
        line, document = found
        external_id = _contact_id(document) or reading.external_id
        try:
            yield _record(line, document, external_id, reading.channel, roles)
        except Unreadable as error:
            yield BadLine(line, error.code, error.message, external_id)


def _record(
    line: int, document: dict[str, Any], external_id: str | None, channel: str | None, roles: Roles
) -> Item:
    said = document.get("Transcript")
    if not isinstance(said, list):
        raise Unreadable(Fault.MALFORMED, "There is no Transcript.")
    external_id = external_id or spoken.fingerprint("contact-lens", said)
    people = _people(document.get("Participants"))
    fields = {"externalId": external_id, "language": document.get("LanguageCode")}
    if document.get("Channel") == "CHAT":
        messages = list(_messages(said, people, roles))
        if not messages:
            raise Unreadable(Fault.NO_MESSAGES, "Nobody says anything here.")
        given = {name: value for name, value in fields.items() if value is not None}
        return Item(line, Kind.CONVERSATION, {**given, "messages": messages})
    turns = spoken.bounded(_turns(said, people, roles))
    duration_s = _duration_s(document.get("ConversationCharacteristics"))
    kind, given = spoken.record(turns, channel=channel, durationSeconds=duration_s, **fields)
    return Item(line, kind, given)


def _turns(said: list[Any], people: Mapping[str, str], roles: Roles) -> Iterator[Turn]:
    for each in _texts(said):
        start_ms, end_ms = _whole(each, "BeginOffsetMillis"), _whole(each, "EndOffsetMillis")
        spoken.require_order(start_ms, end_ms)
        role = _role(each, people, roles)
        yield Turn(role, each["Content"], start_ms, end_ms, each.get("DisplayName"))


def _messages(said: list[Any], people: Mapping[str, str], roles: Roles) -> Iterator[dict[str, Any]]:
    for each in _texts(said):
        message = {"role": _role(each, people, roles), "text": each["Content"]}
        if each.get("DisplayName"):
            message["authorName"] = each["DisplayName"]
        if each.get("AbsoluteTime") is not None:
            message["sentAt"] = each["AbsoluteTime"]
        yield message


def _texts(said: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield what was said: people come and go between it, and cards are shown."""
    for each in said:
        if not isinstance(each, dict):
            raise Unreadable(Fault.MALFORMED, "A turn must be an object.")
        content, kind = each.get("Content"), each.get("ContentType", "text/plain")
        if isinstance(content, str) and content.strip() and str(kind).startswith("text/"):
            yield each


def _role(turn: Mapping[str, Any], people: Mapping[str, str], roles: Roles) -> str:
    person = turn.get("ParticipantId")
    listed = people.get(person) if isinstance(person, str) else None
    return roles.of(
        turn.get("ParticipantRole"), listed, person, names=[turn.get("DisplayName"), person]
    )


def _people(found: object) -> dict[str, str]:
    """Map the ids of the participants to their roles."""
    people = {}
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            person, role = each.get("ParticipantId"), each.get("ParticipantRole")
            if isinstance(person, str) and isinstance(role, str):
                people[person] = role
    return people


def _whole(turn: Mapping[str, Any], name: str) -> int | None:
    value = turn.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Unreadable(Fault.VALIDATION_ERROR, f"{name} must be a whole number from 0.")
    return value


def _duration_s(found: object) -> int | None:
    value = _whole(found, "TotalConversationDurationMillis") if isinstance(found, dict) else None
    return None if value is None else round(value / 1000)


def _contact_id(document: Mapping[str, Any]) -> str | None:
    about = document.get("CustomerMetadata")
    found = about.get("ContactId") if isinstance(about, dict) else None
    return found if isinstance(found, str) and found else None
