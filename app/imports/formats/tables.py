"""Tables in CSV: the reader of conversations, one message a row; the headers and times of any table."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from app.imports.formats.lines import ByteLine, byte_lines, text_of
from app.imports.formats.records import (
    MAX_MESSAGES,
    TOO_MANY_MESSAGES,
    BadLine,
    Entries,
    Fault,
    Kind,
    NativeRecord,
    ReaderOptions,
    RoleResolver,
    Unreadable,
)

DELIMITERS = ",;\t|"

LABEL_PREFIX = "label."

IGNORED = "ignore"

_MAX_NAME = 80


def by_column_name(*fields: str) -> dict[str, str]:
    """Map the normalised names of columns to the fields of the same names."""
    return {_normalised(field): field for field in fields}


def _normalised(name: str) -> str:
    """Return the name of a column in lower case without `_`, `-` and spaces."""
    return "".join(character for character in name.casefold() if character not in " _-\t")


def fields_of_header(
    header: Sequence[str], known: Mapping[str, str], mapping: Mapping[str, str]
) -> list[str]:
    """Return the field of each column; `IGNORED` for a column that is left out.

    Args:
        known: fields by normalised names of columns.
        mapping: the caller's fields by names of columns.
    """
    mapped = {_normalised(column): field for column, field in mapping.items()}
    fields = [field_of(mapped.get(_normalised(column), column), known) for column in header]
    times = Counter(field for field in fields if field != IGNORED)
    present = {_normalised(column) for column in header}
    faults = {
        "Unknown columns": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is None and _normalised(column) not in mapped
        ],
        "More than one column of the same field": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is not None and times[field] > 1
        ],
        "Mapped columns that the file does not have": [
            column for column in mapping if _normalised(column) not in present
        ],
        "Unknown fields in the mapping": [
            field for field in mapping.values() if field_of(field, known) is None
        ],
    }
    sentences = [f"{fault}: {_named(names)}." for fault, names in faults.items() if names]
    if sentences:
        raise Unreadable(Fault.MALFORMED, " ".join(sentences), 1)
    return [field or IGNORED for field in fields]


def field_of(name: str, known: Mapping[str, str]) -> str | None:
    """Return the field of a column's name; None if there is none."""
    stripped = name.strip()
    if stripped.casefold().startswith(LABEL_PREFIX):
        return LABEL_PREFIX + stripped[len(LABEL_PREFIX) :]
    return IGNORED if stripped == IGNORED else known.get(_normalised(name))


def with_offset(text: str, timezone: str | None, line: int = 0) -> str:
    """Return an ISO 8601 time with the offset of the time zone; other texts stay as they are.

    A time that occurs twice, because clocks go back, is read as the first.

    Raises:
        Unreadable: the time does not occur, because clocks go forward.
    """
    if timezone is None:
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is not None:
        return text
    local = moment.replace(tzinfo=ZoneInfo(timezone))
    with suppress(OverflowError):
        if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
            message = f"{text} does not exist in {timezone}: the clocks skip it."
            raise Unreadable(Fault.VALIDATION_ERROR, message, line)
    return local.isoformat()


def _named(names: Iterable[str]) -> str:
    return ", ".join(repr(name.strip()[:_MAX_NAME]) for name in dict.fromkeys(names))


_CONVERSATION_FIELDS: Mapping[str, str] = {
    **by_column_name("externalId", "platform", "subject", "language", "startedAt", "endedAt"),
    **by_column_name("engagement", "engagementId", "campaign", "campaignId"),
    **by_column_name("callCenter", "callCenterId", "executive", "executiveId"),
    **by_column_name("status", "customerRef", "disposition", "tags"),
    "conversationid": "externalId",
}

_MESSAGE_FIELDS: Mapping[str, str] = {
    **by_column_name("role", "speaker", "text", "sentAt", "authorName", "internal"),
    "message": "text",
    "timestamp": "sentAt",
    "author": "authorName",
}

_FIELDS = {**_CONVERSATION_FIELDS, **_MESSAGE_FIELDS}

_BOOLEANS = {
    **dict.fromkeys(("", "0", "false", "no"), False),
    **dict.fromkeys(("1", "true", "yes"), True),
}

_TAG_SEPARATOR = "|"

_MAX_LINE_BYTES = 1024 * 1024

_MOMENTS = frozenset({"sentAt", "startedAt", "endedAt"})


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield each conversation after its last row.

    An unreadable row makes its conversation unreadable: that of its conversation_id, or else that of
    the row before. The conversation_id of a row with a wrong number of cells counts only if
    the row has a known role too, or the next whole row has the same conversation_id.
    """
    roles = RoleResolver(options.roles)
    current: _Conversation | None = None
    for row in _rows_of(_TextLines(byte_lines(stream, _MAX_LINE_BYTES)), options, roles):
        if current is not None and row.is_fragment:
            if len(current.fragments) < MAX_MESSAGES:
                current.fragments[row.external_id] = row
            continue
        fragment = current.fragments.pop(row.external_id, None) if current is not None else None
        if current is not None and row.external_id not in ("", current.external_id):
            yield current.entry()
            current = None
        if current is None and row.error is not None and not row.external_id:
            yield BadLine(row.error.line, row.error.code, row.error.message)
            continue
        current = current or _Conversation(row.external_id, row.line)
        if fragment is not None:
            current.add(fragment, roles)
        current.add(row, roles)
    if current is not None:
        yield current.entry()


def delimiter_of(header: str, mapping: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """Return the delimiter of a header line; None if the line is not a header."""
    for delimiter in DELIMITERS:
        try:
            cells = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if _is_header(cells, mapping):
            return delimiter
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, or the reason why it is unreadable."""

    line: int
    external_id: str
    cells: Mapping[str, str]
    error: Unreadable | None = None
    # It has a wrong number of cells, and no role: an unquoted line break may have cut it off the
    # row before.
    is_fragment: bool = False


@dataclass(slots=True)
class _Conversation:
    """A conversation while its rows are read."""

    external_id: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    error: Unreadable | None = None
    fragments: dict[str, _Row] = field(default_factory=dict)

    def add(self, row: _Row, roles: RoleResolver) -> None:
        """Add a row; an invalid row makes the whole conversation unreadable."""
        if self.error is not None:
            return
        fields, cells = _split_row(row.cells)
        try:
            if row.error is not None:
                raise row.error
            for name, value in fields.items():
                if self.fields.setdefault(name, value) != value:
                    message = f"The rows of this conversation have different values of {name}."
                    raise Unreadable(Fault.VALIDATION_ERROR, message, row.line)
            if len(self.messages) == MAX_MESSAGES:
                raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES, row.line)
            self.messages.append(_message_of(cells, roles, row.line))
        except Unreadable as error:
            self.error = error
            self.messages.clear()

    def entry(self) -> NativeRecord | BadLine:
        """Return the record, or the reason why it is unreadable."""
        for row in self.fragments.values():
            self.error = self.error or row.error
        if self.error is not None:
            return BadLine(self.error.line, self.error.code, self.error.message, self.external_id)
        fields = {**self.fields, "messages": self.messages}
        return NativeRecord(self.line, Kind.CONVERSATION, fields)


class _TextLines:
    """Decoded lines; a class because a generator would end at the first unreadable line."""

    def __init__(self, lines: Iterator[ByteLine]) -> None:
        self._lines = lines
        self.number = 0
        # The first line of the row that is being read, with what could be decoded.
        self.row_start = ""

    def __iter__(self) -> "_TextLines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number = line.number
        self.row_start = self.row_start or (line.data or b"").decode(errors="replace")
        return text_of(line, _MAX_LINE_BYTES) + "\n"


def _rows_of(lines: _TextLines, options: ReaderOptions, roles: RoleResolver) -> Iterator[_Row]:
    try:
        header = next(lines, "")
        # A header with wrong columns has a delimiter, too: the most frequent one.
        delimiter = delimiter_of(header, options.columns) or max(DELIMITERS, key=header.count)
        header_reader = csv.reader([header], delimiter=delimiter, strict=True)
        fields = _message_fields(next(header_reader, []), options.columns)
    except (Unreadable, csv.Error) as error:
        yield _Row(1, "", {}, _as_unreadable(error, 1))
        return
    key_at = fields.index("externalId")
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line, lines.row_start = lines.number + 1, ""
        cells: list[str] = []
        try:
            cells = next(reader)
            if any(cells):
                by_field = _cells_by_field(fields, cells, options, line)
                yield _Row(line, by_field["externalId"], by_field)
        except StopIteration:
            return
        except (Unreadable, csv.Error) as error:
            external_id = _cell_of(lines.row_start, delimiter, key_at)
            is_fragment = len(cells) not in (0, len(fields)) and not _has_role(cells, fields, roles)
            yield _Row(line, external_id, {}, _as_unreadable(error, line), is_fragment)


def _cell_of(row_start: str, delimiter: str, position: int) -> str:
    """Return a cell of the first line of an unreadable row; empty if there is none."""
    with suppress(csv.Error, IndexError):
        return next(csv.reader([row_start], delimiter=delimiter), [])[position].strip()
    return ""


def _has_role(cells: Sequence[str], fields: Sequence[str], roles: RoleResolver) -> bool:
    row = dict(zip(fields, cells, strict=False))
    speaker, role = row.get("speaker"), row.get("role")
    with suppress(Unreadable):
        return bool(roles.role_of(role or speaker, names=[speaker]))
    return False


def _message_fields(header: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
    """Return the field of each column."""
    fields = fields_of_header(header, _FIELDS, mapping)
    if not _has_required(fields):
        raise Unreadable(
            Fault.MALFORMED,
            "The first line must have the columns conversation_id, role or speaker, and text.",
            1,
        )
    return fields


def _is_header(cells: Sequence[str], mapping: Mapping[str, str]) -> bool:
    """Tell whether these cells name the required columns."""
    mapped = {_normalised(column): field for column, field in mapping.items()}
    return _has_required(field_of(mapped.get(_normalised(cell), cell), _FIELDS) for cell in cells)


def _has_required(fields: Iterable[str | None]) -> bool:
    names = set(fields)
    return {"externalId", "text"} <= names and bool(names & {"role", "speaker"})


def _cells_by_field(
    fields: Sequence[str], cells: Sequence[str], options: ReaderOptions, line: int
) -> dict[str, str]:
    if len(cells) != len(fields):
        message = f"The row has {len(cells)} cells, but the first line has {len(fields)}."
        raise Unreadable(Fault.MALFORMED, message, line)
    row = {name: cell.strip() for name, cell in zip(fields, cells, strict=True) if name != IGNORED}
    for name in _MOMENTS & row.keys():
        row[name] = with_offset(row[name], options.timezone, line)
    if not row["externalId"]:
        raise Unreadable(Fault.VALIDATION_ERROR, "The row has no conversation_id.", line)
    return row


def _as_unreadable(error: Unreadable | csv.Error, line: int) -> Unreadable:
    if isinstance(error, Unreadable):
        return error
    return Unreadable(Fault.MALFORMED, f"The row is malformed: {error}.", line)


def _split_row(row: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split a row into the fields of the conversation and those of the message, without blanks."""
    conversation: dict[str, Any] = {}
    message: dict[str, str] = {}
    labels = {}
    for name, cell in row.items():
        if not cell:
            continue
        if name.startswith(LABEL_PREFIX):
            labels[name.removeprefix(LABEL_PREFIX)] = cell
        elif name in _MESSAGE_FIELDS.values():
            message[name] = cell
        else:
            conversation[name] = cell
    if "tags" in conversation:
        tags = str(conversation["tags"]).split(_TAG_SEPARATOR)
        conversation["tags"] = [tag.strip() for tag in tags if tag.strip()]
    if labels:
        conversation["labels"] = labels
    return conversation, message


def _message_of(cells: Mapping[str, str], roles: RoleResolver, line: int) -> dict[str, Any]:
    if "text" not in cells:
        raise Unreadable(Fault.VALIDATION_ERROR, "The row has no text.", line)
    speaker, role = cells.get("speaker"), cells.get("role")
    message: dict[str, Any] = {
        "role": roles.role_of(role or speaker, names=[speaker], line=line),
        "text": cells["text"],
    }
    author = cells.get("authorName") or speaker
    if author:
        message["authorName"] = author
    if "sentAt" in cells:
        message["sentAt"] = cells["sentAt"]
    if "internal" in cells:
        message["internal"] = _boolean_of(cells["internal"], line)
    return message


def _boolean_of(cell: str, line: int) -> bool:
    value = _BOOLEANS.get(cell.strip().casefold())
    if value is None:
        raise Unreadable(Fault.VALIDATION_ERROR, "internal must be true or false.", line)
    return value
