"""Writers of export files; each writes batches of rows and keeps none in memory."""

import csv
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import orjson

from app.analytics.enums import Format
from app.analytics.exports.datasets.columns import Column, Kind, Values

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
        self._writer = csv.writer(self._file, delimiter=delimiter)
        self._kinds = [column.kind for column in columns]
        self._writer.writerow(column.name for column in columns)

    def write(self, columns: Sequence[Values]) -> None:
        cells = [_cells(kind, column) for kind, column in zip(self._kinds, columns, strict=True)]
        self._writer.writerows(zip(*cells, strict=True))

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
        # XlsxWriter gives its files random names: the name of the folder tells whose they are.
        self._folder = path.with_name(f"{path.name}.rows")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        options = {"constant_memory": True, "tmpdir": str(self._folder), "in_memory": False}
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
            for place, value in enumerate(row):
                self._cell(place, value)
            self._row += 1

    def close(self) -> None:
        """Write the workbook, with a filter over all rows."""
        self._sheet.autofilter(0, 0, self._row - 1, len(self._are_times) - 1)
        try:
            self._workbook.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

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


def _cells(kind: Kind, values: Values) -> Values:
    """Return what the cells of a column show; None gives an empty cell."""
    if kind == "boolean":
        return [value if value is None else str(value).lower() for value in values]
    if kind == "list":
        values = [_joined(value) for value in values]
    return [defuse(value) for value in values] if kind in ("text", "list") else values
