"""Identifiers: TypeIDs, a prefix and 26 lower-case base32 characters in time order."""

import os
import re
import secrets
import threading
import time
from datetime import UTC, datetime

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(120, -1, -10)  # of the 13 pairs in a suffix
# As a regular expression.
SUFFIX = "[0-7][0-9a-hjkmnp-tv-z]{25}"
_SUFFIX = re.compile(SUFFIX)


class _Moments:
    """The millisecond and random part of the last id, so that the next one is greater."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._milliseconds = 0
        self._random = 0

    def next(self) -> tuple[int, int]:
        """Return (milliseconds since 1970, 74 bits), greater than the last pair of a millisecond.

        Method 2 of RFC 9562, section 6.2: the random part grows by a random step, so that ids of
        one process sort in the order of their creation and still cannot be guessed.
        """
        with self._lock:
            milliseconds = time.time_ns() // 1_000_000
            if milliseconds == self._milliseconds:
                self._random += 1 + secrets.randbits(_STEP_BITS)
            else:
                self._milliseconds, self._random = milliseconds, secrets.randbits(_START_BITS)
            return self._milliseconds, self._random


_START_BITS = 73  # one below the 74 there are: no run of steps overflows them
_STEP_BITS = 48
_moments = _Moments()


def _forget() -> None:
    """Start again in a forked child, which would otherwise repeat the numbers of its parent."""
    global _moments
    _moments = _Moments()


os.register_at_fork(after_in_child=_forget)


def new_id(prefix: str) -> str:
    """Return a new `<prefix>_<26 characters>`; ids of one process sort by creation.

    The suffix is a UUIDv7 (RFC 9562) in Crockford's base32, as the TypeID specification says.
    """
    milliseconds, random_bits = _moments.next()
    value = milliseconds << 80 | 7 << 76 | (random_bits >> 62) << 64
    value |= 0b10 << 62 | (random_bits & (1 << 62) - 1)
    return f"{prefix}_{_base32(value)}"


def is_id(text: str, prefix: str) -> bool:
    return text.startswith(f"{prefix}_") and _SUFFIX.fullmatch(text[len(prefix) + 1 :]) is not None


def time_of(identifier: str) -> datetime:
    """Return when an id was made; one of the future counts as made now."""
    milliseconds = 0
    for letter in identifier.rpartition("_")[2][:10]:
        milliseconds = milliseconds << 5 | _ALPHABET.index(letter)
    return datetime.fromtimestamp(min(milliseconds / 1000, time.time()), UTC)


def _base32(value: int) -> str:
    return "".join([_PAIRS[value >> shift & 1023] for shift in _SHIFTS])
