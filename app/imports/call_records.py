"""Records of calls: the log of a telephone system, joined to recordings by id, or by start and number."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from pathlib import PurePath
from typing import Any, BinaryIO

from app.imports.formats.lines import json_file
from app.imports.formats.presets import PRESETS, mapping_for
from app.imports.formats.records import Fault, ReaderOptions, Unreadable
from app.imports.formats.table_rows import (
    TableForm,
    TableRow,
    by_column_name,
    rows_of,
    rows_of_objects,
)
from app.imports.loading.input import ImportOptions, reader_options

_FILE = "file"
# Columns that only join a row to a recording.
FROM, TO = "fromNumber", "toNumber"
FIELDS: Mapping[str, str] = {
    **by_column_name("externalId", "language", "recordedAt", "direction", FROM, TO, _FILE),
    **by_column_name("engagement", "engagementId", "campaign", "campaignId"),
    **by_column_name("callCenter", "callCenterId", "executive", "executiveId"),
    **by_column_name("agentChannel", "customerChannel"),
    "filename": _FILE,
    "recordingid": "externalId",
    "startedat": "recordedAt",
}
_MAX_JSON_BYTES = 64 * 1024 * 1024
# A recording may begin when the call is answered, and is named in whole seconds.
_APART_S = 90
_FEWEST_DIGITS, _COMPARED_DIGITS = 2, 9
_LONG_ID = 20
_first = itemgetter(0)


def _lacks(fields: set[str]) -> list[str]:
    by_start = "recordedAt" in fields and fields & {FROM, TO}
    return [] if by_start or _FILE in fields or "externalId" in fields else [_FILE]


class CallRecords:
    """The rows of a log of calls; `unused` are those that no recording has."""

    def __init__(self, rows: Iterable[TableRow]) -> None:
        self._by_name: dict[str, Mapping[str, str]] = {}
        self._paths: dict[str, set[str]] = {}  # by their last name
        # Starts in order: by number, by whether the row has a time zone, and whether it counts.
        self._starts: defaultdict[tuple[str, bool, bool], list[tuple[float, Mapping[str, str]]]]
        self._starts = defaultdict(list)
        self._unused: dict[int, str] = {}
        for row in rows:
            self._add(row)
        for starts in self._starts.values():
            starts.sort(key=_first)

    def __bool__(self) -> bool:
        return bool(self._by_name or self._starts)

    @property
    def unused(self) -> list[str]:
        """The names of the rows without a recording."""
        return list(self._unused.values())

    def row_of(self, name: str, named: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return the row of a recording, without the columns that only join it; None without one.

        It is that with the path, the name, a folder or an id of the recording, or the only one
        whose call began at about the same time with the same number. A folder has the id of a row
        only as `id=7`: `12` may be a day.

        Args:
            named: what the name of the file says.
        """
        path = PurePath(name)
        paths = self._paths.get(path.name, ())
        # Of several paths that end alike, none is the one.
        names = [name, path.name, *(paths if len(paths) == 1 else ()), path.stem]
        names.append(named.get("externalId", ""))
        # Such as CA…_RE….wav, the ids of a call and of its recording.
        names += [part for part in path.stem.split("_") if len(part) >= _LONG_ID]
        for part in reversed(path.parts[:-1]):
            _, sign, value = part.rpartition("=")
            if sign or self._by_name.get(part, {}).get(_FILE) == part:
                names.append(value)
        row = next((self._by_name[key] for key in names if key in self._by_name), None)
        row = row or self._begun_with(named)
        if row is None:
            return None
        self._unused.pop(id(row), None)
        return {field: cell for field, cell in row.items() if field != _FILE}

    def _add(self, row: TableRow) -> None:
        cells = {name: cell for name, cell in row.cells.items() if cell}
        keys = [cells[name] for name in (_FILE, "externalId") if name in cells]
        began_at = _moment(cells.get("recordedAt", ""))
        # Of several legs of a call the first has its caller; the others are no rows of their own.
        is_first = not any(key in self._by_name for key in keys)
        for key in keys:
            self._by_name.setdefault(key, cells)
            if "/" in key:
                self._paths.setdefault(PurePath(key).name, set()).add(key)
        if began_at is not None:
            is_zoned = began_at.tzinfo is not None
            for number in {_digits(cells.get(name, "")) for name in (FROM, TO)}:
                for counts in {False, is_zoned}:
                    start = (_seconds(began_at, zone_counts=counts), cells)
                    self._starts[number, is_zoned, counts].append(start)
        if is_first and (keys or began_at is not None):
            self._unused[id(cells)] = keys[0] if keys else f"line {row.line}"

    def _begun_with(self, named: Mapping[str, str]) -> Mapping[str, str] | None:
        began_at, number = _moment(named.get("recordedAt", "")), _digits(named.get("number", ""))
        if began_at is None or not number:
            return None
        near: list[tuple[float, Mapping[str, str]]] = []
        for is_zoned in (False, True):
            counts = is_zoned and began_at.tzinfo is not None
            starts = self._starts.get((number, is_zoned, counts), [])
            second = _seconds(began_at, zone_counts=counts)
            first = bisect_left(starts, second - _APART_S, key=_first)
            near += starts[first : bisect_right(starts, second + _APART_S, key=_first)][:2]
        return near[0][1] if len(near) == 1 else None


def calls_of(stream: BinaryIO, name: str, options: ImportOptions) -> CallRecords:
    """Read a log of calls, in CSV or as JSON by its name.

    Raises:
        Unreadable: it is neither, or its columns are not known.
    """
    preset = PRESETS.get(options.preset or "")
    form = TableForm(
        FIELDS,
        _lacks,
        moments=frozenset({"recordedAt"}),
        usual_header=preset.header if preset else (),
    )
    mapping = mapping_for(reader_options(options), of_recordings=True)
    given = ReaderOptions(timezone=options.timezone)
    if PurePath(name).suffix.casefold() == ".json":
        rows = rows_of_objects(_objects_in(stream, name), form, given, mapping)
    else:
        rows = rows_of(stream, form, given, mapping)
    return CallRecords(map(partial(_readable, name), rows))


def _readable(name: str, row: TableRow) -> TableRow:
    if row.error is not None:
        message = f"{name}, line {row.error.line}: {row.error.message}"
        raise Unreadable(row.error.code, message)
    return row


def _objects_in(file: BinaryIO, name: str) -> list[dict[str, Any]]:
    """Return the list of objects of a JSON file, or the only one inside of its object."""
    document = json_file(file, name, _MAX_JSON_BYTES)
    lists = document.values() if isinstance(document, dict) else [document]
    rows = [item for item in lists if isinstance(item, list)]
    if len(rows) != 1 or not all(isinstance(row, dict) for row in rows[0]):
        raise Unreadable(Fault.MALFORMED, f"{name} must hold one list of objects.")
    return rows[0]


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _seconds(moment: datetime, *, zone_counts: bool) -> float:
    """Return a moment as a number; without its time zone to compare it with one that has none."""
    return (moment if zone_counts else moment.replace(tzinfo=UTC)).timestamp()


def _digits(text: str) -> str:
    """Return the last digits of a number, that of `Ann Lee (101)` included."""
    digits = re.sub(r"\D", "", text)
    return digits[-_COMPARED_DIGITS:] if len(digits) >= _FEWEST_DIGITS else ""
