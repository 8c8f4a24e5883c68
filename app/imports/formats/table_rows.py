"""Rows of tables, in CSV or as JSON objects, read by the names of their columns, which a caller may map."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import Any, BinaryIO, TypeAlias
from zoneinfo import ZoneInfo

from app.imports.formats.lines import ByteLine, byte_lines, text_of
from app.imports.formats.records import Fault, ReaderOptions, Unreadable

IGNORED = "ignore"
_DELIMITERS = ",;\t|"
_LABEL_PREFIX = "label."
_MAX_NAME = 80
_MAX_LINE_BYTES = 1024 * 1024
# Seconds or milliseconds since 1970, from 2001 on.
_UNIX = re.compile(r"[1-9]\d{9}(?:\d{3})?")
# Such as Tue, 24 Aug 2010 09:16:00 +0000.
_OF_MAIL = re.compile(
    r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: [-+A-Z\d]{1,5})?"
)


# Maps the columns of a header to fields.
MappingOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class TableForm:
    """The columns of a table.

    Attributes:
        fields: fields by normalised names of columns.
        lacks: names what these fields lack, as the names of columns; nothing if they are enough.
        moments: fields with times, which get the offset of the caller's time zone.
        opposites: by normalised names of columns, the fields that mean their opposite.
        usual_header: the columns of a file whose first line is a row already.
    """

    fields: Mapping[str, str]
    lacks: Callable[[set[str]], Sequence[str]]
    moments: frozenset[str] = frozenset()
    opposites: Mapping[str, str] = field(default_factory=dict)
    usual_header: Sequence[str] = ()

    def fields_of(self, header: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
        fields = _fields_of_header(header, self.fields, mapping)
        for column, name in zip(header, fields, strict=True):
            if self.opposites.get(normalised(column)) == name:
                message = (
                    f"The column {_named([column])} says the opposite of {name}: do not map it."
                )
                raise Unreadable(Fault.COLUMNS, message, 1)
        if lacking := self.lacks(set(fields)):
            message = f"No column is {', and none '.join(lacking)}."
            raise Unreadable(Fault.COLUMNS, message, 1)
        return fields

    def delimiter_of(self, header: str, mapping_of: MappingOf) -> str | None:
        """Return the delimiter of a header line; None if the line is not a header."""
        for delimiter in _DELIMITERS:
            with suppress(csv.Error):
                cells = next(csv.reader([header], delimiter=delimiter, strict=True), [])
                mapping = mapping_of(cells).items()
                mapped = {normalised(column): field for column, field in mapping}
                named = (mapped.get(normalised(cell), cell) for cell in cells)
                if not self.lacks({field_of(name, self.fields) or IGNORED for name in named}):
                    return delimiter
        return None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row by field, stripped and without ignored columns; or the reason why it is unreadable.

    Of an unreadable row, `cells` are those that it has, `first_line` those of its first line, and
    `is_cut` says that it has a wrong number of them.
    """

    line: int
    cells: Mapping[str, str]
    error: Unreadable | None = None
    first_line: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False


def rows_of(
    stream: BinaryIO, form: TableForm, options: ReaderOptions, mapping_of: MappingOf
) -> Iterator[TableRow]:
    """Yield the rows below the header; an unreadable header is the only row."""
    lines = _TextLines(byte_lines(stream, _MAX_LINE_BYTES))
    try:
        delimiter, names = _header_of(lines, form, mapping_of)
        usual = form.usual_header
        if usual and len(names) == len(usual) and names[-1] != usual[-1]:
            names = usual
            lines.repeat_last()
        fields = form.fields_of(names, mapping_of(names))
    except (Unreadable, csv.Error) as error:
        yield TableRow(1, {}, _as_unreadable(error, 1))
        return
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line, lines.row_start = lines.number + 1, ""
        cells: list[str] = []
        try:
            cells = next(reader)
            if any(cells):
                yield TableRow(line, _cells_by_field(fields, cells, form, options, line))
        except StopIteration:
            return
        except (Unreadable, csv.Error) as error:
            first_cells: list[str] = []
            with suppress(csv.Error):
                first_cells = next(csv.reader([lines.row_start], delimiter=delimiter), [])
            yield TableRow(
                line,
                dict(zip(fields, cells, strict=False)),
                _as_unreadable(error, line),
                dict(zip(fields, first_cells, strict=False)),
                is_cut=len(cells) not in (0, len(fields)),
            )


def rows_of_objects(
    objects: Sequence[Mapping[str, Any]],
    form: TableForm,
    options: ReaderOptions,
    mapping_of: MappingOf,
) -> Iterator[TableRow]:
    """Yield JSON objects as rows of a table, whose columns are their members, as `author.name`.

    Members that are no fields are left out: an API sends more with each version.

    Raises:
        Unreadable: the members lack fields of the form.
    """
    flat = [dict(_flattened(item)) for item in objects]
    names = list(dict.fromkeys(name for row in flat for name in row))
    mapping = mapping_of(names)
    names = [name for name in names if name in mapping or field_of(name, form.fields)]
    fields = form.fields_of(names, mapping)
    for number, row in enumerate(flat, 1):
        cells = [row.get(name, "") for name in names]
        yield TableRow(number, _cells_by_field(fields, cells, form, options, number))


def _flattened(item: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in item.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        elif isinstance(value, bool):
            yield prefix + name, str(value).lower()
        elif isinstance(value, str | int | float):
            yield prefix + name, str(value)


def sample_of(
    stream: BinaryIO, form: TableForm, mapping_of: MappingOf, *, rows: int
) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the header of a table and its first readable rows, which may lack columns of the form.

    Raises:
        Unreadable: there is no header.
    """
    lines = _TextLines(byte_lines(stream, _MAX_LINE_BYTES))
    try:
        delimiter, names = _header_of(lines, form, mapping_of)
    except csv.Error as error:
        raise _as_unreadable(error, 1) from error
    reader = csv.reader(lines, delimiter=delimiter)
    read: list[Sequence[str]] = []
    for _ in range(rows):
        with suppress(Unreadable, csv.Error):
            row = next(reader, None)
            if row is None:
                break
            if len(row) == len(names):
                read.append(row)
    return names, read


def _header_of(
    lines: Iterator[str], form: TableForm, mapping_of: MappingOf
) -> tuple[str, Sequence[str]]:
    header = next(lines, "")
    # A header with wrong columns has a delimiter, too: the most frequent one.
    delimiter = form.delimiter_of(header, mapping_of) or max(_DELIMITERS, key=header.count)
    return delimiter, next(csv.reader([header], delimiter=delimiter, strict=True), [])


def by_column_name(*fields: str) -> dict[str, str]:
    """Map the normalised names of columns to the fields of the same names."""
    return {normalised(field): field for field in fields}


def with_labels(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return the cells that are not blank, those of labels as one field `labels`."""
    given = {name: cell for name, cell in cells.items() if cell}
    labels = {
        name.removeprefix(_LABEL_PREFIX): given.pop(name)
        for name in list(given)
        if name.startswith(_LABEL_PREFIX)
    }
    return {**given, "labels": labels} if labels else given


def field_of(name: str, known: Mapping[str, str]) -> str | None:
    stripped = name.strip()
    if stripped.casefold().startswith(_LABEL_PREFIX):
        return _LABEL_PREFIX + stripped[len(_LABEL_PREFIX) :]
    return IGNORED if stripped == IGNORED else known.get(normalised(name))


def with_offset(text: str, timezone: str | None, line: int = 0) -> str:
    """Return an ISO 8601 time with the offset of the time zone; other texts stay as they are.

    Seconds and milliseconds since 1970 are read, too, a space for the `T`, and dates of e-mail. A
    time that occurs twice, because clocks go back, is read as the first.

    Raises:
        Unreadable: the time does not occur, because clocks go forward.
    """
    moment = _moment_of(text)
    if moment is None:
        return text
    if moment.tzinfo is not None or timezone is None:
        return moment.isoformat() if text.isdecimal() or " " in text else text
    local = moment.replace(tzinfo=ZoneInfo(timezone))
    with suppress(OverflowError):
        if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
            message = f"{text} does not exist in {timezone}: the clocks skip it."
            raise Unreadable(Fault.VALIDATION_ERROR, message, line)
    return local.isoformat()


def is_time(text: str) -> bool:
    return _moment_of(text) is not None


def _moment_of(text: str) -> datetime | None:
    if _UNIX.fullmatch(text):
        seconds = int(text[:10]) + int(text[10:] or 0) / 1000
        return datetime.fromtimestamp(seconds, UTC)
    with suppress(ValueError):
        return datetime.fromisoformat(text.removesuffix(" UTC") + "+00:00" * text.endswith(" UTC"))
    if _OF_MAIL.fullmatch(text):
        with suppress(ValueError, IndexError):
            return parsedate_to_datetime(text)
    return None


def _fields_of_header(
    header: Sequence[str], known: Mapping[str, str], mapping: Mapping[str, str]
) -> list[str]:
    """Return the field of each column; `IGNORED` for a column that is left out.

    Args:
        known: fields by normalised names of columns.
        mapping: the caller's fields by names of columns.
    """
    mapped = {normalised(column): field for column, field in mapping.items()}
    fields = [field_of(mapped.get(normalised(column), column), known) for column in header]
    times = Counter(field for field in fields if field != IGNORED)
    present = {normalised(column) for column in header}
    faults = {
        "Unknown columns": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is None and normalised(column) not in mapped
        ],
        "More than one column of the same field": [
            column
            for column, field in zip(header, fields, strict=True)
            if field is not None and times[field] > 1
        ],
        "Mapped columns that the file does not have": [
            column for column in mapping if normalised(column) not in present
        ],
        "Unknown fields in the mapping": [
            field for field in mapping.values() if field_of(field, known) is None
        ],
    }
    sentences = [f"{fault}: {_named(names)}." for fault, names in faults.items() if names]
    if sentences:
        raise Unreadable(Fault.COLUMNS, " ".join(sentences), 1)
    return [field or IGNORED for field in fields]


def _cells_by_field(
    fields: Sequence[str], cells: Sequence[str], form: TableForm, options: ReaderOptions, line: int
) -> dict[str, str]:
    if len(cells) != len(fields):
        message = f"The row has {len(cells)} cells, but the first line has {len(fields)}."
        raise Unreadable(Fault.MALFORMED, message, line)
    row = {name: cell.strip() for name, cell in zip(fields, cells, strict=True) if name != IGNORED}
    for name in form.moments & row.keys():
        row[name] = with_offset(row[name], options.timezone, line)
    return row


def _as_unreadable(error: Unreadable | csv.Error, line: int) -> Unreadable:
    if isinstance(error, Unreadable):
        return error
    return Unreadable(Fault.MALFORMED, f"The row is malformed: {error}.", line)


def _named(names: Iterable[str]) -> str:
    return ", ".join(repr(name.strip()[:_MAX_NAME]) for name in dict.fromkeys(names))


def normalised(name: str) -> str:
    """Return the name of a column in lower case without `_`, `-` and spaces."""
    return "".join(character for character in name.casefold() if character not in " _-\t")


class _TextLines:
    """Decoded lines; a class because a generator would end at the first unreadable line."""

    def __init__(self, lines: Iterator[ByteLine]) -> None:
        self._lines = lines
        self._last = ByteLine(0, b"")
        self.number = 0
        # The first line of the row that is being read, with what could be decoded.
        self.row_start = ""

    def __iter__(self) -> "_TextLines":
        return self

    def repeat_last(self) -> None:
        self._lines = chain([self._last], self._lines)

    def __next__(self) -> str:
        line = self._last = next(self._lines)
        self.number = line.number
        self.row_start = self.row_start or (line.data or b"").decode(errors="replace")
        return text_of(line, _MAX_LINE_BYTES) + "\n"
