"""Tables of whole numbers that are looked up and added up together."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from struct import Struct
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
_BITS = 64


class PackedRows(Generic[Key]):
    """Adds up the rows that tables hold for some keys, and counts the keys that each table knows.

    What all tables hold for a key is packed into one number, 64 bits for each column, so that one
    look-up and one addition do for all of it. All rows of a table have the same length.
    """

    def __init__(self, *tables: Mapping[Key, Sequence[int]]) -> None:
        widths = [1 + len(next(iter(table.values()), ())) for table in tables]
        self._places = list(pairwise(accumulate(widths, initial=0)))
        self._struct = Struct(f"<{sum(widths)}q")
        self._signs = sum(1 << (_BITS * place + _BITS - 1) for place in range(sum(widths)))
        packed: dict[Key, int] = defaultdict(int)
        for table, (first, _) in zip(tables, self._places, strict=True):
            for key, row in table.items():
                packed[key] += _packed((1, *row)) << (_BITS * first)
        self._packed = dict(packed)

    def total(self, keys: Iterable[Key]) -> int:
        """Add up the rows of some keys; `columns` takes the sum apart, or that of several sums."""
        return sum(filter(None, map(self._packed.get, keys)))

    def columns(self, total: int) -> list[tuple[int, ...]]:
        """Return for each table how many keys it knows, and then the sum of each of its columns."""
        numbers = (total + self._signs) ^ self._signs
        flat = self._struct.unpack(numbers.to_bytes(self._struct.size, "little"))
        return [flat[first:end] for first, end in self._places]


def _packed(row: Sequence[int]) -> int:
    # A negative number borrows from the next column, as it does in a sum.
    packed = 0
    for number in reversed(row):
        packed = (packed << _BITS) + number
    return packed
