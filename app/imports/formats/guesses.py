"""Guesses of the fields of a table's columns, by their names and by what their cells hold."""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from app.imports.formats.table_rows import field_of, is_time, normalised
from app.imports.formats.tables import FORM, known_role

# Words in the names of columns, the best first; a column is known by the first field that fits.
_NAMES: Mapping[str, Sequence[str]] = {
    "externalId": (
        *("conversationid", "ticketid", "chatid", "caseid", "threadid", "sessionid"),
        *("interactionid", "contactid", "conversationsid", "ticketnumber", "casenumber"),
        *("ticket", "conversation", "chat", "case", "thread", "session", "reference", "id"),
    ),
    "role": (
        *("role", "authorrole", "authortype", "sendertype", "senderrole", "participantpurpose"),
        *("usertype", "participanttype", "sender", "direction", "type", "who", "by", "from"),
    ),
    "text": (
        *("text", "message", "body", "content", "messagetext", "plainbody", "bodytext"),
        *("comment", "utterance", "transcript", "reply"),
    ),
    "html": ("html", "htmlbody", "bodyhtml"),
    "sentAt": (
        *("sentat", "timestamp", "createdat", "datecreated", "sent", "datesent", "sentdate"),
        *("time", "datetime", "date", "when"),
    ),
    "authorName": ("authorname", "author", "sendername", "agentname", "username", "name"),
    "internal": ("internal", "isinternal", "private", "isprivate"),
    "public": ("public", "ispublic"),
    "subject": ("subject", "ticketsubject", "title"),
    "campaign": ("campaign", "queue"),
    "tags": ("tags",),
    "language": ("language", "lang", "locale"),
}
_HTML = re.compile(r"<(?:p|br|div|span|html|body|a|b|ul|table)\b[^<>]{0,500}>", re.IGNORECASE)
# More values than these are names.
_MOST_ROLES = 12


def guess_fields(
    header: Sequence[str], rows: Sequence[Sequence[str]], known: Mapping[str, str]
) -> dict[str, str]:
    """Return the probable fields of columns, by their names; `known` are those that were given."""
    cells = {
        column: [row[index].strip() for row in rows if row[index].strip()]
        for index, column in enumerate(header)
    }
    given = {normalised(column): to for column, to in known.items()}
    fields = {
        column: to
        for column in header
        if (to := given.get(normalised(column)) or field_of(column, FORM.fields))
    }
    by_name = {normalised(column): column for column in reversed(header)}
    for field, names in _NAMES.items():
        for name in names:
            column = by_name.get(name)
            is_free = column is not None and column not in fields
            if field not in fields.values() and is_free and _may_hold(field, cells[str(column)]):
                fields[str(column)] = field
    _guess_by_content(fields, {name: held for name, held in cells.items() if name not in fields})
    return {column: _html_or_text(to, cells[column]) for column, to in fields.items()}


def _guess_by_content(fields: dict[str, str], left: dict[str, list[str]]) -> None:
    """Fill the fields that every table needs with the columns whose cells look like them."""

    def take(field: str, column: str | None) -> None:
        if column is not None:
            fields[column] = field
            left.pop(column)

    if not {"role", "speaker"} & set(fields.values()):
        take("role", next((name for name, held in left.items() if _are_roles(held)), None))
    if not {"text", "html"} & set(fields.values()):
        lengths = {name: fmean(map(len, held)) for name, held in left.items() if _are_words(held)}
        take("text", max(lengths, key=lengths.__getitem__, default=None))
    if "sentAt" not in fields.values():
        take("sentAt", next((name for name, held in left.items() if _are_times(held)), None))
    if "externalId" not in fields.values():
        take("externalId", next((name for name, held in left.items() if _are_keys(held)), None))


def _may_hold(field: str, held: Sequence[str]) -> bool:
    if not held:
        return False
    if field == "role":
        return len(set(held)) <= _MOST_ROLES
    if field == "sentAt":
        return _are_times(held)
    return field != "text" or not _are_times(held)


def _html_or_text(field: str, held: Sequence[str]) -> str:
    has_tags = sum(1 for cell in held if _HTML.search(cell[:2_000])) * 2 > len(held)
    return "html" if field == "text" and has_tags else field


def _are_roles(held: Sequence[str]) -> bool:
    values = set(held)
    return 1 < len(values) <= _MOST_ROLES and any(map(known_role, values))


def _are_times(held: Sequence[str]) -> bool:
    return bool(held) and all(map(is_time, held[:50]))


def _are_words(held: Sequence[str]) -> bool:
    return sum(1 for cell in held if " " in cell) * 2 > len(held) and not _are_times(held)


def _are_keys(held: Sequence[str]) -> bool:
    """True if values come in runs, each once: as those of a column that says what belongs together."""
    runs = [cell for before, cell in zip(["", *held], held, strict=False) if cell != before]
    return len(held) > len(runs) == len(set(runs)) > 1
