"""Metadata of recordings: from the name of the file, a CSV, and a JSON file next to the recording."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.imports.files import ImportFile, sidecar_of
from app.imports.formats.records import Fault, Unreadable
from app.imports.formats.tables import header as headers
from app.imports.formats.tables.header import DELIMITERS, IGNORED, LABEL_PREFIX, field_of
from app.imports.formats.tables.local_times import with_offset

_FILE = "file"
_CHANNELS = {"agentChannel": "agent", "customerChannel": "customer"}
_NAMES = (
    *("externalId", "language", "recordedAt", "direction"),
    *("engagement", "engagementId", "campaign", "campaignId"),
    *("callCenter", "callCenterId", "executive", "executiveId"),
    *_CHANNELS,
)
FIELDS: Mapping[str, str] = {
    **headers.by_column_name(_FILE, *_NAMES),
    "filename": _FILE,
    "recordingid": "externalId",
    "startedat": "recordedAt",
}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MAX_SIDECAR_BYTES = 64 * 1024


class NamePattern:
    """A pattern of file names such as `{executive}_{recordedAt}`; `{ignore}` matches anything."""

    def __init__(self, text: str) -> None:
        named = [(name, field_of(name, FIELDS)) for name in _PLACEHOLDER.findall(text)]
        unknown = [name for name, field in named if field in (None, _FILE)]
        if unknown or not named:
            known = ", ".join(_NAMES)
            fault = f"has unknown fields ({', '.join(unknown)})" if unknown else "has no {field}"
            raise Unreadable(Fault.MALFORMED, f"The name pattern {fault}; fields are {known}.")
        self._fields = [str(field) for _, field in named]
        if len(set(self._fields)) < len(self._fields) - self._fields.count(IGNORED):
            raise Unreadable(Fault.MALFORMED, "The name pattern has a field twice.")
        literals = _PLACEHOLDER.sub("\0", text).split("\0")
        self._expression = re.compile("([^/]+?)".join(map(re.escape, literals)))
        self._folders = text.count("/")

    def values_of(self, name: str) -> dict[str, str]:
        """Return the fields of a file's name without its suffix."""
        stem = "/".join(name.rsplit(".", 1)[0].split("/")[-self._folders - 1 :])
        match = self._expression.fullmatch(stem)
        if match is None:
            raise Unreadable(Fault.MALFORMED, "The file's name does not match the name pattern.")
        return {
            field: value
            for field, value in zip(self._fields, match.groups(), strict=True)
            if field != IGNORED
        }


class RecordingMetadata:
    """Metadata of recordings by file; a CSV wins over the name, and a JSON file over both."""

    def __init__(
        self,
        *,
        table: Path | None = None,
        columns: Mapping[str, str],
        pattern: NamePattern | None = None,
        timezone: str | None = None,
    ) -> None:
        self._rows = {} if table is None else dict(_rows_of(table, columns))
        self._pattern = pattern
        self._timezone = timezone

    def fields_of(self, file: ImportFile) -> dict[str, Any]:
        """Return the fields of a recording in the words of the API."""
        fields: dict[str, Any] = self._pattern.values_of(file.name) if self._pattern else {}
        fields |= self._rows.get(file.name) or self._rows.get(file.path.name) or {}
        fields = _shaped(fields)
        sidecar = sidecar_of(file.path)
        if sidecar is not None:
            fields |= _document_of(sidecar)
        if isinstance(recorded_at := fields.get("recordedAt"), str):
            fields["recordedAt"] = with_offset(recorded_at, self._timezone)
        return fields


def _rows_of(table: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    with table.open(encoding="utf-8-sig", newline="") as lines:
        try:
            first = lines.readline()
            delimiter = max(DELIMITERS, key=first.count)
            header = next(csv.reader([first], delimiter=delimiter, strict=True), [])
            fields = headers.fields_of_header(header, FIELDS, columns)
            if _FILE not in fields:
                raise Unreadable(Fault.MALFORMED, "The first line must have the column file.")
            for cells in csv.reader(lines, delimiter=delimiter, strict=True):
                row = {
                    field: cell.strip()
                    for field, cell in zip(fields, cells, strict=False)
                    if cell.strip() and field != IGNORED
                }
                if name := row.pop(_FILE, ""):
                    yield name, row
        except (csv.Error, UnicodeDecodeError) as error:
            message = f"{table.name} is no CSV in UTF-8: {error}."
            raise Unreadable(Fault.MALFORMED, message) from error


def _document_of(sidecar: Path) -> dict[str, Any]:
    with sidecar.open("rb") as file:
        data = file.read(_MAX_SIDECAR_BYTES + 1)
    if len(data) > _MAX_SIDECAR_BYTES:
        message = f"{sidecar.name} has more than {_MAX_SIDECAR_BYTES} bytes."
        raise Unreadable(Fault.TOO_LONG, message)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"{sidecar.name} is not JSON: {error}."
        raise Unreadable(Fault.MALFORMED, message) from error
    if not isinstance(document, dict):
        raise Unreadable(Fault.MALFORMED, f"{sidecar.name} must hold one JSON object.")
    return document


def _shaped(fields: Mapping[str, str]) -> dict[str, Any]:
    """Move labels and channels of cells to where the API has them."""
    shaped: dict[str, Any] = {}
    labels: dict[str, str] = {}
    channels: dict[str, Any] = {}
    for field, value in fields.items():
        if field.startswith(LABEL_PREFIX):
            labels[field.removeprefix(LABEL_PREFIX)] = value
        elif field in _CHANNELS:
            channels[_CHANNELS[field]] = int(value) if value.isdecimal() else value
        else:
            shaped[field] = value
    return {
        **shaped,
        **({"labels": labels} if labels else {}),
        **({"channelMap": channels} if channels else {}),
    }
