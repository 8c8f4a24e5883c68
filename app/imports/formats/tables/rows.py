"""Reader of CSV: one message a row; the rows of a conversation are adjacent."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO

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
    Unreadable,
)
from app.imports.formats.roles import RoleResolver
from app.imports.formats.tables import columns
from app.imports.formats.tables.header import DELIMITERS, IGNORED
from app.imports.formats.tables.local_times import with_offset

_MAX_LINE_BYTES = 1024 * 1024
_MOMENTS = frozenset({"sentAt", "startedAt", "endedAt"})


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield each conversation after its last row.

    An unreadable row makes its conversation unreadable.
    """
    roles = RoleResolver(options.roles)
    current: _Conversation | None = None
    for row in _rows_of(_TextLines(byte_lines(stream, _MAX_LINE_BYTES)), options):
        if isinstance(row, Unreadable):
            if current is None:
                yield BadLine(row.line, row.code, row.message)
            else:
                current.refuse(row)
            continue
        external_id = row.cells["externalId"]
        if current is not None and external_id != current.external_id:
            yield current.entry()
            current = None
        current = current or _Conversation(external_id, row.line)
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
        if columns.is_header(cells, mapping):
            return delimiter
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: Mapping[str, str]


@dataclass(slots=True)
class _Conversation:
    """A conversation while its rows are read."""

    external_id: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    error: Unreadable | None = None

    def refuse(self, error: Unreadable) -> None:
        """Keep the first error."""
        self.error = self.error or error
        self.messages.clear()

    def add(self, row: _Row, roles: RoleResolver) -> None:
        """Add a row; an invalid row makes the whole conversation unreadable."""
        if self.error is not None:
            return
        fields, cells = columns.split_row(row.cells)
        try:
            for name, value in fields.items():
                if self.fields.setdefault(name, value) != value:
                    message = f"The rows of this conversation have different values of {name}."
                    raise Unreadable(Fault.VALIDATION_ERROR, message, row.line)
            if len(self.messages) == MAX_MESSAGES:
                raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES, row.line)
            self.messages.append(_message_of(cells, roles, row.line))
        except Unreadable as error:
            self.refuse(error)

    def entry(self) -> NativeRecord | BadLine:
        """Return the record, or the reason why it is unreadable."""
        if self.error is not None:
            return BadLine(self.error.line, self.error.code, self.error.message, self.external_id)
        fields = {**self.fields, "messages": self.messages}
        return NativeRecord(self.line, Kind.CONVERSATION, fields)


class _TextLines:
    """Decoded lines; a class because a generator would end at the first unreadable line."""

    def __init__(self, lines: Iterator[ByteLine]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> "_TextLines":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number = line.number
        return text_of(line, _MAX_LINE_BYTES) + "\n"


def _rows_of(lines: _TextLines, options: ReaderOptions) -> Iterator[_Row | Unreadable]:
    try:
        header = next(lines, "")
        # A header with wrong columns has a delimiter, too: the most frequent one.
        delimiter = delimiter_of(header, options.columns) or max(DELIMITERS, key=header.count)
        header_reader = csv.reader([header], delimiter=delimiter, strict=True)
        fields = columns.fields_of_header(next(header_reader, []), options.columns)
    except (Unreadable, csv.Error) as error:
        yield _as_unreadable(error, 1)
        return
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = lines.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (Unreadable, csv.Error) as error:
            yield _as_unreadable(error, line)
            continue
        if len(cells) == len(fields):
            yield _row_of(line, _cells_by_field(fields, cells, options))
        elif any(cells):
            message = f"The row has {len(cells)} cells, but the first line has {len(fields)}."
            yield Unreadable(Fault.MALFORMED, message, line)


def _cells_by_field(
    fields: Sequence[str], cells: Sequence[str], options: ReaderOptions
) -> dict[str, str]:
    row = {name: cell.strip() for name, cell in zip(fields, cells, strict=True) if name != IGNORED}
    for name in _MOMENTS & row.keys():
        row[name] = with_offset(row[name], options.timezone)
    return row


def _row_of(line: int, cells: Mapping[str, str]) -> _Row | Unreadable:
    if not cells["externalId"]:
        return Unreadable(Fault.VALIDATION_ERROR, "The row has no conversation_id.", line)
    return _Row(line, cells)


def _as_unreadable(error: Unreadable | csv.Error, line: int) -> Unreadable:
    if isinstance(error, Unreadable):
        return error
    return Unreadable(Fault.MALFORMED, f"The row is malformed: {error}.", line)


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
        message["internal"] = columns.boolean_of(cells["internal"], line)
    return message
