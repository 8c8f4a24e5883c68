"""Columns of datasets, and how what the database holds becomes their values."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, TypeAlias
from zoneinfo import ZoneInfo

from orjson import loads
from sqlalchemy import ColumnElement, Text, cast

from app.core.clock import iso_utc

Kind = Literal["text", "key", "whole", "number", "truth", "words"]
# The values of one column in a batch of rows: work goes by columns, which is several times faster.
Values: TypeAlias = Sequence[Any]
Row: TypeAlias = Sequence[Any]

_TRUTHS = {0: False, 1: True, None: None}


@dataclass(frozen=True, slots=True)
class Column:
    """A name and the kind of its values.

    `words` are lists of texts; a `key` is a text that is made here: an id, a moment, or a word of
    a closed list. None of these can look like a formula, or has to be quoted.
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


def by_column(rows: Iterable[Row]) -> list[Values]:
    """Turn rows into columns; without rows there are none."""
    return list(zip(*rows, strict=True))


def plain(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Take a JSON column as the text that it is kept as."""
    return cast(column, Text)


def truths(values: Values) -> Values:
    """Read truths, which SQLite keeps as numbers."""
    return [_TRUTHS[value] for value in values]


def documents(values: Values, shape: Callable[[Any], Any] = lambda document: document) -> Values:
    """Read JSON texts that are alike in many rows, and shape each; the same text is read once."""

    @cache
    def read(text: str | None) -> Any:
        return None if text is None else shape(loads(text))

    return [read(text) for text in values]


def moments(values: Values, zone: ZoneInfo) -> Values:
    """Write moments as `moments_in` does."""
    if zone.key == "UTC" and all(type(value) is str for value in values):
        return [f"{value[:10]}T{value[11:23]}Z" for value in values]
    return [*map(moments_in(zone), values)]


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
