"""Weights of the fitted models: the documents that ship, and tables that add weights up."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from struct import Struct
from typing import Any, Generic, TypeVar

import orjson

MODELS = Path(__file__).parent / "models"
Key = TypeVar("Key", bound=Hashable)
# `struct` codes of integers, by their number of bits.
_CODES = {32: "i", 64: "q"}


def model_document(name: str) -> dict[str, Any]:
    """Read one model by its name, such as `opinion`."""
    document: dict[str, Any] = orjson.loads((MODELS / f"{name}.json").read_bytes())
    return document


class PackedRows(Generic[Key]):
    """Adds up the rows that tables hold for some keys, and counts the keys that each table knows.

    What all tables hold for a key is packed into one number, so many bits for each column, so that
    one look-up and one addition do for all of it; a sum has to fit its column. All rows of a table
    have the same length.
    """

    def __init__(self, *tables: Mapping[Key, Sequence[int]], bits: int = 64) -> None:
        widths = [1 + len(next(iter(table.values()), ())) for table in tables]
        self._places = list(pairwise(accumulate(widths, initial=0)))
        self._all = _Columns(sum(widths), bits)
        self._packed: dict[Key, int] = {}
        for table, (first, end) in zip(tables, self._places, strict=True):
            pack, shift = _Columns(end - first, bits).pack, bits * first
            for key, row in table.items():
                self._packed[key] = self._packed.get(key, 0) + (pack(1, *row) << shift)

    def total(self, keys: Iterable[Key]) -> int:
        """Add up the rows of some keys; `columns` takes the sum apart, or that of several sums."""
        return sum(filter(None, map(self._packed.get, keys)))

    def columns(self, total: int) -> list[tuple[int, ...]]:
        """Return for each table how many keys it knows, and then the sum of each of its columns."""
        numbers = self._all.unpack(total)
        return [numbers[first:end] for first, end in self._places]


class _Columns:
    """Packs columns into one number; the sum of such numbers holds the sums of the columns."""

    def __init__(self, count: int, bits: int) -> None:
        self._struct = Struct(f"<{count}{_CODES[bits]}")
        self._signs = sum(1 << (bits * place - 1) for place in range(1, count + 1))

    def pack(self, *numbers: int) -> int:
        packed = int.from_bytes(self._struct.pack(*numbers), "little")
        # A negative number borrows from the next column, as it does in a sum.
        return (packed ^ self._signs) - self._signs

    def unpack(self, total: int) -> tuple[int, ...]:
        packed = (total + self._signs) ^ self._signs
        return self._struct.unpack(packed.to_bytes(self._struct.size, "little"))
