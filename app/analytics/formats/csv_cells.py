"""Cells of CSV, a column at a time: texts as they stand between two delimiters."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from orjson import dumps

from app.analytics.datasets.cells import Kind, Values
from app.analytics.formats.safety import flat, safe

Cells: TypeAlias = Callable[[Values], Sequence[str]]


def cells_of(kind: Kind, delimiter: str) -> Cells:
    """Return what writes a column of this kind; what is not there is an empty cell."""
    if kind == "key":
        return _keys
    if kind == "text":
        return _texts(delimiter)
    if kind == "words":
        texts = _texts(delimiter)
        return lambda values: texts([flat(value) for value in values])
    return _literals


def _literals(values: Values) -> Sequence[str]:
    """Write numbers and truths as JSON does, all in one go."""
    return dumps(values)[1:-1].decode().replace("null", "").split(",")


def _keys(values: Values) -> Sequence[str]:
    return [value or "" for value in values] if None in values else values


def _texts(delimiter: str) -> Cells:
    to_quote = re.compile(f'[{delimiter}"\r\n]')
    # Most columns need nothing at all; no text holds a NUL.
    to_look_at = re.compile("[,;|\t\"\r\n]|(?:^|\0)[=+@'\uff1d\uff0b\uff0d\uff20-]")

    def cell(value: str) -> str:
        text = str(safe(value))
        return '"' + text.replace('"', '""') + '"' if to_quote.search(text) else text

    def texts(values: Values) -> Sequence[str]:
        filled = _keys(values)
        return [*map(cell, filled)] if to_look_at.search("\0".join(filled)) else filled

    return texts
