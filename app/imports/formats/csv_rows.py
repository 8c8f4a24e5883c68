"""CSV: one message a row, the rows of a conversation together, the first line names the columns."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from app.imports.formats import csv_columns
from app.imports.formats.items import (
    MOST_MESSAGES,
    BadLine,
    Fault,
    Item,
    Kind,
    Read,
    Reading,
    Unreadable,
)
from app.imports.formats.lines import Line, lines, not_utf8, text_of, too_long
from app.imports.formats.roles import Roles

DELIMITERS = ",;\t|"
_MOST_LINE_BYTES = 1024 * 1024


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield each conversation as soon as its last row has been read.

    A row that cannot be read spoils the conversation in which it stands.
    """
    roles = Roles(reading.roles)
    begun: _Conversation | None = None
    for row in _rows(_Texts(lines(stream, _MOST_LINE_BYTES))):
        external_id = "" if isinstance(row, Unreadable) else row.cells.get("externalId", "")
        if isinstance(row, Unreadable) or not external_id:
            bad = _bad(row)
            if begun is None:
                yield BadLine(bad.line, bad.code, bad.message)
            else:
                begun.spoil(bad)
            continue
        if begun is not None and external_id != begun.external_id:
            yield begun.ended()
            begun = None
        begun = begun or _Conversation(external_id, row.line)
        begun.add(row, roles)
    if begun is not None:
        yield begun.ended()


def delimiter_of(header: str) -> str | None:
    """Find the character that parts the names of the columns; None where this is no header."""
    for delimiter in DELIMITERS:
        try:
            cells = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if csv_columns.is_header(cells):
            return delimiter
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: Mapping[str, str]


@dataclass(slots=True)
class _Conversation:
    """A conversation whose rows are being read."""

    external_id: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    spoiled: Unreadable | None = None

    def spoil(self, why: Unreadable) -> None:
        """Note the first reason for which this is not taken."""
        self.spoiled = self.spoiled or why
        self.messages.clear()

    def add(self, row: _Row, roles: Roles) -> None:
        """Take a row; what is wrong with it spoils the whole."""
        if self.spoiled is not None:
            return
        fields, cells = csv_columns.split(row.cells)
        try:
            for name, value in fields.items():
                if self.fields.setdefault(name, value) != value:
                    message = f"The rows of this conversation differ in {name}."
                    raise Unreadable(Fault.VALIDATION_ERROR, message, row.line)
            if len(self.messages) == MOST_MESSAGES:
                message = f"One conversation may have at most {MOST_MESSAGES} messages."
                raise Unreadable(Fault.TOO_LONG, message, row.line)
            self.messages.append(_message(cells, roles, row.line))
        except Unreadable as error:
            self.spoil(error)

    def ended(self) -> Item | BadLine:
        """Return the record, or why it is none."""
        if self.spoiled is not None:
            bad = self.spoiled
            return BadLine(bad.line, bad.code, bad.message, self.external_id)
        return Item(self.line, Kind.CONVERSATION, {**self.fields, "messages": self.messages})


class _Texts:
    """The lines as texts; goes on after one that cannot be decoded, where a generator would end."""

    def __init__(self, found: Iterator[Line]) -> None:
        self._lines = found
        self.number = 0

    def __iter__(self) -> "_Texts":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number = line.number
        bad = too_long(line.number, _MOST_LINE_BYTES)
        if line.data is not None:
            try:
                return text_of(line.data) + "\n"
            except UnicodeDecodeError:
                bad = not_utf8(line.number)
        raise Unreadable(bad.code, bad.message, bad.line)


def _rows(texts: _Texts) -> Iterator[_Row | Unreadable]:
    try:
        header = next(texts, "")
        delimiter = delimiter_of(header) or ","
        found = csv.reader([header], delimiter=delimiter, strict=True)
        places = csv_columns.places(next(found, []))
    except (Unreadable, csv.Error) as error:
        yield _refused(error, 1)
        return
    found = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        line = texts.number + 1
        try:
            cells = next(found)
        except StopIteration:
            return
        except (Unreadable, csv.Error) as error:
            yield _refused(error, line)
            continue
        if len(cells) == len(places):
            yield _Row(line, dict(zip(places, (cell.strip() for cell in cells), strict=True)))
        elif any(cells):
            message = f"This row has {len(cells)} cells; the first line names {len(places)}."
            yield Unreadable(Fault.MALFORMED, message, line)


def _refused(error: Unreadable | csv.Error, line: int) -> Unreadable:
    if isinstance(error, Unreadable):
        return error
    return Unreadable(Fault.MALFORMED, f"This row cannot be read: {error}.", line)


def _bad(row: _Row | Unreadable) -> Unreadable:
    if isinstance(row, Unreadable):
        return row
    return Unreadable(Fault.VALIDATION_ERROR, "This row names no conversation.", row.line)


def _message(cells: Mapping[str, str], roles: Roles, line: int) -> dict[str, Any]:
    if "text" not in cells:
        raise Unreadable(Fault.VALIDATION_ERROR, "This row has no text.", line)
    speaker, role = cells.get("speaker"), cells.get("role")
    message: dict[str, Any] = {
        "role": roles.of(role or speaker, names=[speaker], line=line),
        "text": cells["text"],
    }
    author = cells.get("authorName") or speaker
    if author:
        message["authorName"] = author
    if "sentAt" in cells:
        message["sentAt"] = cells["sentAt"]
    if "internal" in cells:
        message["internal"] = csv_columns.truth(cells["internal"], line)
    return message
