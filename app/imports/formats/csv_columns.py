"""Columns of the CSV format: their names, and the fields that their values go to."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.imports.formats.records import Fault, Unreadable

# By names in lower case without `_`, `-` and spaces.
CONVERSATION_FIELDS: Mapping[str, str] = {
    "externalid": "externalId",
    "conversationid": "externalId",
    "engagement": "engagement",
    "engagementid": "engagementId",
    "campaign": "campaign",
    "campaignid": "campaignId",
    "callcenter": "callCenter",
    "callcenterid": "callCenterId",
    "executive": "executive",
    "executiveid": "executiveId",
    "platform": "platform",
    "subject": "subject",
    "language": "language",
    "startedat": "startedAt",
    "endedat": "endedAt",
    "status": "status",
    "customerref": "customerRef",
    "disposition": "disposition",
    "tags": "tags",
}
MESSAGE_FIELDS: Mapping[str, str] = {
    "role": "role",
    "speaker": "speaker",
    "text": "text",
    "message": "text",
    "sentat": "sentAt",
    "timestamp": "sentAt",
    "authorname": "authorName",
    "author": "authorName",
    "internal": "internal",
}
LABEL_PREFIX = "label."
_BOOLEANS = {
    "": False,
    "0": False,
    "false": False,
    "no": False,
    "1": True,
    "true": True,
    "yes": True,
}
_TAG_SEPARATOR = "|"


def fields_of_header(header: Sequence[str]) -> list[str]:
    """Return the field of each column.

    Raises:
        Unreadable: a column is unknown, repeated or missing.
    """
    fields = [_field_of(name) for name in header]
    if len(set(fields)) < len(fields):
        raise Unreadable(Fault.MALFORMED, "Each column may occur only once.", 1)
    if not is_header(header):
        raise Unreadable(
            Fault.MALFORMED,
            "The first line must have the columns conversation_id, role or speaker, and text.",
            1,
        )
    return fields


def is_header(cells: Sequence[str]) -> bool:
    """Tell whether these cells name the required columns."""
    names = {_normalised_name(cell) for cell in cells}
    return (
        bool(names & {"externalid", "conversationid"})
        and bool(names & {"role", "speaker"})
        and bool(names & {"text", "message"})
    )


def split_row(row: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split a row into the fields of the conversation and those of the message, without blanks."""
    conversation: dict[str, Any] = {}
    message: dict[str, str] = {}
    labels = {}
    for field, cell in row.items():
        if not cell:
            continue
        if field.startswith(LABEL_PREFIX):
            labels[field.removeprefix(LABEL_PREFIX)] = cell
        elif field in MESSAGE_FIELDS.values():
            message[field] = cell
        else:
            conversation[field] = cell
    if "tags" in conversation:
        tags = str(conversation["tags"]).split(_TAG_SEPARATOR)
        conversation["tags"] = [tag.strip() for tag in tags if tag.strip()]
    if labels:
        conversation["labels"] = labels
    return conversation, message


def boolean_of(cell: str, line: int) -> bool:
    """Parse a boolean."""
    value = _BOOLEANS.get(cell.strip().casefold())
    if value is None:
        raise Unreadable(Fault.VALIDATION_ERROR, "internal must be true or false.", line)
    return value


def _field_of(name: str) -> str:
    stripped = name.strip()
    if stripped.casefold().startswith(LABEL_PREFIX):
        return LABEL_PREFIX + stripped[len(LABEL_PREFIX) :]
    normalised = _normalised_name(name)
    field = CONVERSATION_FIELDS.get(normalised) or MESSAGE_FIELDS.get(normalised)
    if field is None:
        raise Unreadable(Fault.MALFORMED, f"The column {stripped[:80]!r} is unknown.", 1)
    return field


def _normalised_name(name: str) -> str:
    return "".join(character for character in name.casefold() if character not in " _-\t")
