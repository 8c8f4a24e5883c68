"""CSV cells of one column at a time, quoted where necessary."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from orjson import dumps

from app.analytics.exports.datasets.columns import Kind, Values
from app.analytics.exports.formats.formulas import defuse, joined

CellFormatter: TypeAlias = Callable[[Values], Sequence[str]]


def cell_formatter(kind: Kind, delimiter: str) -> CellFormatter:
    """Return the function that formats a column of this kind; None gives an empty cell."""
    if kind in ("key", "time"):
        return _keys
    if kind == "text":
        return _texts(delimiter)
    if kind == "list":
        texts = _texts(delimiter)
        return lambda values: texts([joined(value) for value in values])
    return _literals


def _literals(values: Values) -> Sequence[str]:
    """Format numbers and booleans as JSON does, all of them in one call."""
    return dumps(values)[1:-1].decode().replace("null", "").split(",")


def _keys(values: Values) -> Sequence[str]:
    return [value or "" for value in values] if None in values else values


def _texts(delimiter: str) -> CellFormatter:
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
