"""Writers of export files; each writes batches of rows and keeps none in memory."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import orjson
from orjson import dumps

from app.analytics.enums import Format
from app.analytics.exports.datasets.columns import Column, Kind, Row, Values

CONTENT_TYPES = {
    Format.CSV: "text/csv",
    Format.JSON: "application/json",
    Format.JSONL: "application/x-ndjson",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Format.PARQUET: "application/vnd.apache.parquet",
}
_PACKAGES = {Format.XLSX: "xlsxwriter", Format.PARQUET: "pyarrow"}
_DELIMITERS = {"comma": ",", "semicolon": ";"}
# The limit of Excel, header included.
MOST_ROWS_OF_A_SHEET = 1_048_576 - 1
_ROW_GROUP = 20_000
_SHEET_WIDTHS: Mapping[Kind, int] = {
    "text": 30,
    "key": 20,
    "time": 19,
    "integer": 12,
    "number": 12,
    "boolean": 10,
    "list": 30,
}
# Full-width signs count as well. A spreadsheet that expects another delimiter than the file's begins a
# cell in the middle of a text; there only a sign before an operand counts, so that emoticons stay.
_FORMULA = re.compile(
    "(?:^(?=[\"']*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])"
    "|(?<=[,;|\t])(?=[\"']*[=+@\uff1d\uff0b\uff0d\uff20-][\\w(@\"']))"
)
_CellFormatter: TypeAlias = Callable[[Values], Sequence[str]]


class TooManyRows(Exception):
    """The rows exceed the limit of the format."""


class Writer(Protocol):
    """Writes the rows of one file; the file is complete after `close`."""

    def write(self, columns: Sequence[Values]) -> None:
        """Add rows, given as columns of equal length."""
        ...

    def close(self) -> None: ...


def is_available(format_: Format) -> bool:
    package = _PACKAGES.get(format_)
    return package is None or find_spec(package) is not None


def open_writer(
    format_: Format, path: Path, columns: Sequence[Column], *, delimiter: str
) -> Writer:
    if format_ is Format.CSV:
        return _CsvWriter(path, columns, _DELIMITERS[delimiter])
    if format_ is Format.XLSX:
        return _XlsxWriter(path, columns)
    if format_ is Format.PARQUET:
        return _ParquetWriter(path, columns)
    return _JsonWriter(path, columns, lines=format_ is Format.JSONL)


class _CsvWriter:
    """Writes RFC 4180 in UTF-8 with a header; texts that look like formulas are defused."""

    def __init__(self, path: Path, columns: Sequence[Column], delimiter: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="", buffering=1 << 20)
        self._delimiter = delimiter
        self._formatters = [cell_formatter(column.kind, delimiter) for column in columns]
        self._file.write(delimiter.join(column.name for column in columns) + "\r\n")

    def write(self, columns: Sequence[Values]) -> None:
        cells = [
            formatter(column) for formatter, column in zip(self._formatters, columns, strict=True)
        ]
        lines: Iterable[str] = map(self._delimiter.join, zip(*cells, strict=True))
        if len(cells) == 1:
            # Readers skip an empty line.
            lines = (line or '""' for line in lines)
        self._file.write("\r\n".join(lines) + "\r\n")

    def close(self) -> None:
        self._file.close()


class _JsonWriter:
    """Writes one array of objects, or one object a line."""

    def __init__(self, path: Path, columns: Sequence[Column], *, lines: bool) -> None:
        self._file = path.open("wb", buffering=1 << 20)
        self._names = [column.name for column in columns]
        self._lines = lines
        self._separator = b"" if lines else b"[\n"

    def write(self, columns: Sequence[Values]) -> None:
        for row in zip(*columns, strict=True):
            body = orjson.dumps(dict(zip(self._names, row, strict=True)))
            self._file.write(self._separator + body + (b"\n" if self._lines else b""))
            self._separator = b"" if self._lines else b",\n"

    def close(self) -> None:
        if not self._lines:
            self._file.write(b"[]\n" if self._separator == b"[\n" else b"\n]\n")
        self._file.close()


class _XlsxWriter:
    """Writes one sheet, each row to the disk at once; texts are never formulas.

    Times are dates of the sheet, on the clock of the requested zone: a sheet knows no zones.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        xlsxwriter: Any = import_module("xlsxwriter")
        options = {"constant_memory": True, "tmpdir": str(path.parent), "in_memory": False}
        self._workbook = xlsxwriter.Workbook(str(path), options)
        self._sheet = self._workbook.add_worksheet("Export")
        bold = self._workbook.add_format({"bold": True})
        self._time_format = self._workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._are_times = [column.kind == "time" for column in columns]
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(columns):
            self._sheet.set_column(place, place, max(_SHEET_WIDTHS[column.kind], len(column.name)))
            self._sheet.write_string(0, place, column.name, bold)
        self._row = 1

    def write(self, columns: Sequence[Values]) -> None:
        """Add rows; `TooManyRows` when the sheet is full."""
        if self._row + len(columns[0]) > MOST_ROWS_OF_A_SHEET + 1:
            raise TooManyRows
        for row in zip(*columns, strict=True):
            self._add(row)

    def close(self) -> None:
        """Write the workbook, with a filter over all rows."""
        self._sheet.autofilter(0, 0, self._row - 1, len(self._are_times) - 1)
        self._workbook.close()

    def _add(self, row: Row) -> None:
        for place, value in enumerate(row):
            self._cell(place, value)
        self._row += 1

    def _cell(self, place: int, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(self._row, place, value)
        elif isinstance(value, int | float):
            self._sheet.write_number(self._row, place, value)
        elif self._are_times[place]:
            moment = datetime.fromisoformat(value).replace(tzinfo=None)
            self._sheet.write_datetime(self._row, place, moment, self._time_format)
        else:
            # A cell has at most 32,767 characters.
            self._sheet.write_string(self._row, place, str(defuse(_joined(value)))[:32_767])


class _ParquetWriter:
    """Writes typed columns in row groups of at least 20,000 rows."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self._arrow: Any = import_module("pyarrow")
        arrow = self._arrow
        types: Mapping[str, Any] = {
            "text": arrow.string(),
            "key": arrow.string(),
            "time": arrow.timestamp("ms", tz="UTC"),
            "integer": arrow.int64(),
            "number": arrow.float64(),
            "boolean": arrow.bool_(),
            "list": arrow.list_(arrow.string()),
        }
        self._schema = arrow.schema([(column.name, types[column.kind]) for column in columns])
        self._writer: Any = import_module("pyarrow.parquet").ParquetWriter(str(path), self._schema)
        self._waiting: list[list[Any]] = [[] for _ in columns]

    def write(self, columns: Sequence[Values]) -> None:
        for waiting, column in zip(self._waiting, columns, strict=True):
            waiting.extend(column)
        if len(self._waiting[0]) >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting[0]:
            arrays = [
                self._array(values, field.type)
                for values, field in zip(self._waiting, self._schema, strict=True)
            ]
            self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
            self._waiting = [[] for _ in self._waiting]

    def _array(self, values: list[Any], type_: Any) -> Any:
        if self._arrow.types.is_timestamp(type_):  # arrow parses times in bulk
            return self._arrow.array(values, type=self._arrow.string()).cast(type_)
        return self._arrow.array(values, type=type_)


def defuse(value: Any) -> Any:
    """Put an apostrophe before each place of a text where a formula could begin."""
    return _FORMULA.sub("'", value) if type(value) is str else value


def _joined(value: Any) -> Any:
    """Join a list to one text; return any other value as it is."""
    return "; ".join(map(str, value)) if type(value) is list else value


def cell_formatter(kind: Kind, delimiter: str) -> _CellFormatter:
    """Return the function that formats a column of this kind; None gives an empty cell."""
    if kind in ("key", "time"):
        return _keys
    if kind == "text":
        return _texts(delimiter)
    if kind == "list":
        texts = _texts(delimiter)
        return lambda values: texts([_joined(value) for value in values])
    return _literals


def _literals(values: Values) -> Sequence[str]:
    """Format numbers and booleans as JSON does, all of them in one call."""
    return dumps(values)[1:-1].decode().replace("null", "").split(",")


def _keys(values: Values) -> Sequence[str]:
    return [value or "" for value in values] if None in values else values


def _texts(delimiter: str) -> _CellFormatter:
    to_quote = re.compile(f'[{delimiter}"\r\n]')
    # One search over the whole column, as most columns need no change; no text contains a NUL.
    to_check = re.compile("[,;|\t\"\r\n]|(?:^|\0)[=+@'\uff1d\uff0b\uff0d\uff20-]")

    def cell(value: str) -> str:
        text = str(defuse(value))
        return '"' + text.replace('"', '""') + '"' if to_quote.search(text) else text

    def texts(values: Values) -> Sequence[str]:
        filled = _keys(values)
        return [*map(cell, filled)] if to_check.search("\0".join(filled)) else filled

    return texts
