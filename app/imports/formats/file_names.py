"""Patterns of file names: the fields of a recording that its name holds, also as telephone systems write it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.imports.formats.records import Fault, Unreadable
from app.imports.formats.table_rows import IGNORED, by_column_name, field_of

_DATE, _TIME = "date", "time"
_NAMES = (
    *("externalId", "language", "recordedAt", _DATE, _TIME, "direction", "number"),
    *("engagement", "engagementId", "campaign", "campaignId"),
    *("callCenter", "callCenterId", "executive", "executiveId"),
    *("agentChannel", "customerChannel"),
)
_FIELDS: Mapping[str, str] = {
    **by_column_name(*_NAMES),
    "recordingid": "externalId",
    "startedat": "recordedAt",
    "extension": "executive",
}
_FORMS = {_DATE: r"(\d{8}|\d{4}[-_.]\d\d[-_.]\d\d)", _TIME: r"(\d{6}|\d\d[-_.:]\d\d[-_.:]\d\d)"}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Shape:
    """One form of a system's names: its groups are fields.

    `direction` is that of calls whose name has no word for it that the caller maps. With `in_utc`
    the time is not that of the system's own zone. `folders` are the folders that count as the name.
    """

    expression: str
    direction: str = ""
    in_utc: bool = False
    folders: int = 0


_EXTENSION, _OUTSIDE = r"(?P<executive>\d{2,6})", r"(?P<number>\+?\d{7,15}|anonymous|unknown)"
_MOMENT = r"(?P<date>\d{8})-(?P<time>\d{6})"
# The name of the system goes before the number of a call where asterisk.conf gives one.
_ASTERISK = rf"{_MOMENT}-(?P<externalId>(?:[\w.-]+-)?\d+\.\d+)"
_STEREO = "(?:(?:FR_)?S_)?"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_3CX_END = r"_(?P<date>\d{8})(?P<time>\d{6})(?:\((?P<externalId>\d+)\))?"
# FreePBX: its dialplan sub-record-check names a call by type, destination, caller, start and id.
# FusionPBX: the setting record_name, `${uuid}`, in a folder for each day. VICIdial: the campaign's
# setting FULLDATE_CUSTPHONE, or one with the agent; of stereo recordings (STEREO_CALL_RECORDINGS.txt)
# only whole ones, with the agent on the left, not CO_ and CM_ with one side. Twilio: the id of the
# recording. Zoom: support.zoom.com, KB0079123, and the `file_url` of Zoom Phone.
_SHAPES: Mapping[str, Sequence[_Shape]] = {
    "freepbx": (
        _Shape(rf"(?P<direction>out)-(?P<number>\+?\d+)-{_EXTENSION}-{_ASTERISK}", "outbound"),
        _Shape(
            rf"(?P<direction>exten|external)-{_EXTENSION}-(?P<number>\+?\w+)-{_ASTERISK}", "inbound"
        ),
        _Shape(rf"(?P<direction>q|rg|in)-\+?\w+-(?P<number>\+?\w+)-{_ASTERISK}", "inbound"),
        _Shape(rf"(?P<direction>[a-z]+)-{_OUTSIDE}-{_EXTENSION}-{_ASTERISK}", "outbound"),
        _Shape(rf"(?P<direction>[a-z]+)-{_EXTENSION}-{_OUTSIDE}-{_ASTERISK}", "inbound"),
        _Shape(rf"(?P<direction>[a-z]+)-\+?\w+-\+?\w+-{_ASTERISK}", "unknown"),
    ),
    "fusionpbx": (
        _Shape(
            rf"(?P<date>\d{{4}}/[A-Z][a-z]{{2}}/\d\d)/(?P<externalId>{_UUID})", "unknown", folders=3
        ),
        _Shape(rf"(?P<externalId>{_UUID})", "unknown"),
    ),
    "3cx": (
        _Shape(rf"\[[^\]]*\]_{_EXTENSION}-{_OUTSIDE}{_3CX_END}", "outbound"),
        _Shape(rf"\[[^\]]*\]_{_OUTSIDE}-{_EXTENSION}{_3CX_END}", "inbound"),
        _Shape(rf"\[[^\]]*\]_\+?\w+-\+?\w+{_3CX_END}", "unknown"),
    ),
    "vicidial": (
        _Shape(
            rf"{_STEREO}{_MOMENT}_(?P<number>\d{{6,15}})(?:_(?P<executive>\w+?))?(?:-all)?",
            "unknown",
        ),
        _Shape(
            rf"{_STEREO}{_MOMENT}_(?P<executive>\w+?)_(?P<number>\d{{6,15}})(?:-all)?", "unknown"
        ),
    ),
    "twilio": (_Shape(r"(?:CA[0-9a-f]{32}_)?(?P<externalId>RE[0-9a-f]{32})", "unknown"),),
    "zoom": (
        _Shape(rf"GMT{_MOMENT}_(?P<externalId>[\w-]{{16,}}?)_[A-Za-z]+", "unknown", in_utc=True),
        _Shape(rf"GMT{_MOMENT}_Recording\w*", "unknown", in_utc=True),
        _Shape(
            r"call_recording_(?P<externalId>[\w-]+)_(?P<date>\d{8})(?P<time>\d{6})",
            "unknown",
            in_utc=True,
        ),
    ),
}
SYSTEMS = tuple(_SHAPES)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class NamePattern:
    """A pattern of file names: that of a system, or one such as `{executive}_{date}`.

    `{ignore}` matches anything.
    """

    def __init__(self, text: str, directions: Mapping[str, str] | None = None) -> None:
        """Read a pattern; `directions` are the caller's directions by words of names."""
        self._directions = directions or {}
        shapes = _SHAPES.get(text) or [_Shape(_expression_of(text), folders=text.count("/"))]
        self._shapes = [(re.compile(shape.expression), shape) for shape in shapes]

    def values_of(self, name: str) -> dict[str, str]:
        """Return the fields of a file's name without its suffix.

        Raises:
            Unreadable: the name has another form.
        """
        parts = name.rsplit(".", 1)[0].split("/")
        for expression, shape in self._shapes:
            stem = "/".join(parts[-shape.folders - 1 :])
            if match := expression.fullmatch(stem):
                return self._values(match, shape)
        raise Unreadable(Fault.MALFORMED, "The file's name does not match the name pattern.")

    def _values(self, match: re.Match[str], shape: _Shape) -> dict[str, str]:
        values = {name: value for name, value in match.groupdict().items() if value}
        day, time = values.pop(_DATE, ""), values.pop(_TIME, "")
        if day:
            values["recordedAt"] = f"{_digits_of(day)}T{_digits_of(time) or '000000'}"
            values["recordedAt"] += "Z" if shape.in_utc else ""
        word = values.get("direction", "")
        if shape.direction and word not in self._directions:
            values["direction"] = shape.direction
        return values


def _expression_of(text: str) -> str:
    names = [(name, field_of(name, _FIELDS)) for name in _PLACEHOLDER.findall(text)]
    unknown = [name for name, field in names if field not in {IGNORED, *_FIELDS.values()}]
    if unknown or not names:
        fault = f"has unknown fields ({', '.join(unknown)})" if unknown else "has no {field}"
        message = (
            f"The name pattern {fault}; fields are {', '.join(_NAMES)}, and systems whose names "
            f"are known are {', '.join(SYSTEMS)}."
        )
        raise Unreadable(Fault.MALFORMED, message)
    fields = [str(field) for _, field in names]
    if len(set(fields)) < len(fields) - max(0, fields.count(IGNORED) - 1):
        raise Unreadable(Fault.MALFORMED, "The name pattern has a field twice.")
    if {"recordedAt", _DATE} <= {*fields} or (_TIME in fields and _DATE not in fields):
        message = "The name pattern takes either recordedAt, or date with or without time."
        raise Unreadable(Fault.MALFORMED, message)
    literals = map(re.escape, _PLACEHOLDER.split(text)[::2])
    groups = [
        "[^/]+?" if field == IGNORED else f"(?P<{field}>{_FORMS.get(field, '[^/]+?')})"
        for field in fields
    ]
    return "".join(part for pair in zip(literals, [*groups, ""], strict=True) for part in pair)


def _digits_of(text: str) -> str:
    """Return the digits of a day or a time, also of `2024/Mar/05`."""
    for number, month in enumerate(_MONTHS, 1):
        text = text.replace(month, f"{number:02}")
    return re.sub(r"\D", "", text)
