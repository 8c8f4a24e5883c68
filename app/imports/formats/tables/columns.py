"""Columns of the CSV format: their names, and the fields that their values go to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.imports.formats.records import Fault, Unreadable
from app.imports.formats.tables import header as headers
from app.imports.formats.tables.header import (
    LABEL_PREFIX,
    by_column_name,
    field_of,
    normalised_name,
)

CONVERSATION_FIELDS: Mapping[str, str] = {
    **by_column_name("externalId", "platform", "subject", "language", "startedAt", "endedAt"),
    **by_column_name("engagement", "engagementId", "campaign", "campaignId"),
    **by_column_name("callCenter", "callCenterId", "executive", "executiveId"),
    **by_column_name("status", "customerRef", "disposition", "tags"),
    "conversationid": "externalId",
}
MESSAGE_FIELDS: Mapping[str, str] = {
    **by_column_name("role", "speaker", "text", "sentAt", "authorName", "internal"),
    "message": "text",
    "timestamp": "sentAt",
    "author": "authorName",
}
_FIELDS = {**CONVERSATION_FIELDS, **MESSAGE_FIELDS}
_BOOLEANS = {
    **dict.fromkeys(("", "0", "false", "no"), False),
    **dict.fromkeys(("1", "true", "yes"), True),
}
_TAG_SEPARATOR = "|"


def fields_of_header(header: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
    """Return the field of each column."""
    fields = headers.fields_of_header(header, _FIELDS, mapping)
    if not _has_required(fields):
        raise Unreadable(
            Fault.MALFORMED,
            "The first line must have the columns conversation_id, role or speaker, and text.",
            1,
        )
    return fields


def is_header(cells: Sequence[str], mapping: Mapping[str, str]) -> bool:
    """Tell whether these cells name the required columns."""
    mapped = {normalised_name(column): field for column, field in mapping.items()}
    return _has_required(
        field_of(mapped.get(normalised_name(cell), cell), _FIELDS) for cell in cells
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


def _has_required(fields: Iterable[str | None]) -> bool:
    names = set(fields)
    return {"externalId", "text"} <= names and bool(names & {"role", "speaker"})
