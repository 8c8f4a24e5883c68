"""What cells count, as bytes: numbers with their counts, topics, and the sums of layouts."""

import struct
from array import array
from collections.abc import Iterable, Mapping

import orjson

from app.analytics import figures

# Before the shares of each layout: its id, and how many bytes follow.
_HEAD = struct.Struct("<QI")


def of_pairs(counted: Mapping[int, int]) -> bytes:
    """Write numbers and how often each occurs, of four bytes each."""
    numbers = [number for pair in sorted(counted.items()) for number in pair]
    return figures.joined(array("I", numbers))


def pairs(data: bytes) -> Iterable[tuple[int, int]]:
    """Read numbers and how often each occurs."""
    numbers = figures.taken(data, "I")
    return zip(numbers[::2], numbers[1::2], strict=True)


def of_topics(counted: Mapping[str, int]) -> bytes:
    """Write topics and how often each occurs."""
    return orjson.dumps(counted, option=orjson.OPT_SORT_KEYS)


def topics(data: bytes) -> Iterable[tuple[str, int]]:
    """Read topics and how often each occurs."""
    return dict(orjson.loads(data)).items()


def of_shares(by_layout: Mapping[int, int]) -> bytes:
    """Write the packed sums of layouts, each with the id of its layout."""
    written = b""
    for layout, packed in sorted(by_layout.items()):
        size = (packed.bit_length() + 7) // 8
        written += _HEAD.pack(layout, size) + packed.to_bytes(size, "little")
    return written


def shares(data: bytes) -> Iterable[tuple[int, int]]:
    """Read the ids of layouts and the packed sums of each."""
    place = 0
    while place < len(data):
        layout, size = _HEAD.unpack_from(data, place)
        place += _HEAD.size + size
        yield layout, int.from_bytes(data[place - size : place], "little")
