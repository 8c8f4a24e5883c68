"""Columns of datasets, and values as they stand in a cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from app.core.clock import iso_utc

Kind = Literal["text", "key", "whole", "number", "truth", "words"]
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A name and the kind of its values.

    `words` are lists of texts; a `key` is a text that is made here: an id, a moment, or a word of
    a closed list, none of which can look like a formula.
    """

    name: str
    kind: Kind = "text"


def columns(text: str) -> tuple[Column, ...]:
    """Read columns such as `id score:whole`."""
    found = []
    for each in text.split():
        name, _, kind = each.partition(":")
        found.append(Column(name, kind or "text"))  # type: ignore[arg-type]
    return tuple(found)


def moments_in(zone: ZoneInfo) -> Callable[[Any], str | None]:
    """Return what writes moments as ISO 8601 in a zone; UTC has a `Z`, others their offset.

    The database may give a moment as it keeps it, which spares its reading where it is only
    written again.
    """
    if zone.key == "UTC":
        return _utc
    return lambda value: _in(zone, value)


def _utc(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return f"{value[:10]}T{value[11:23]}Z"
    return iso_utc(value)


def _in(zone: ZoneInfo, value: Any) -> str | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(value, str) else value
    return str(moment.astimezone(zone).isoformat(timespec="milliseconds"))
