"""The columns of the CSV form: what each is called, and where its value goes."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.imports.formats.items import Fault, Unreadable

# Names in any case, with or without `_`, `-` and spaces between words.
OF_CONVERSATION: Mapping[str, str] = {
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
OF_MESSAGE: Mapping[str, str] = {
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
LABEL = "label."
_TRUTH = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}
_TAGS_BETWEEN = "|"


def places(header: Sequence[str]) -> list[str]:
    """Name the place of each column.

    Raises:
        Unreadable: a column is unknown or stands twice, or one that is needed is missing.
    """
    found = [_place(name) for name in header]
    if len(set(found)) < len(found):
        raise Unreadable(Fault.MALFORMED, "A column stands twice.", 1)
    if not is_header(header):
        raise Unreadable(
            Fault.MALFORMED,
            "The first line must name the columns: conversation_id, role or speaker, and text.",
            1,
        )
    return found


def is_header(cells: Sequence[str]) -> bool:
    """Whether these cells name the columns that are needed."""
    words = {_word(cell) for cell in cells}
    return (
        bool(words & {"externalid", "conversationid"})
        and bool(words & {"role", "speaker"})
        and bool(words & {"text", "message"})
    )


def split(row: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Part a row into what it says of its conversation and of its message; no empty cells."""
    filled = {place: cell for place, cell in row.items() if cell}
    fields: dict[str, Any] = {}
    message: dict[str, str] = {}
    labels = {}
    for place, cell in filled.items():
        if place.startswith(LABEL):
            labels[place.removeprefix(LABEL)] = cell
        elif place in OF_MESSAGE.values():
            message[place] = cell
        else:
            fields[place] = cell
    if "tags" in fields:
        tags = str(fields["tags"]).split(_TAGS_BETWEEN)
        fields["tags"] = [tag.strip() for tag in tags if tag.strip()]
    if labels:
        fields["labels"] = labels
    return fields, message


def truth(cell: str, line: int) -> bool:
    """Read a yes or no."""
    value = _TRUTH.get(cell.strip().casefold())
    if value is None:
        raise Unreadable(Fault.VALIDATION_ERROR, "internal must be true or false.", line)
    return value


def _place(name: str) -> str:
    stripped = name.strip()
    if stripped.casefold().startswith(LABEL):
        return LABEL + stripped[len(LABEL) :]
    word = _word(name)
    place = OF_CONVERSATION.get(word) or OF_MESSAGE.get(word)
    if place is None:
        raise Unreadable(Fault.MALFORMED, f"There is no column {stripped[:80]!r}.", 1)
    return place


def _word(name: str) -> str:
    return "".join(character for character in name.casefold() if character not in " _-\t")
