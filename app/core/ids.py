"""Identifiers: TypeIDs, a prefix and 26 lower-case base32 characters in time order."""

import re
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_SUFFIX = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


def new_id(prefix: str) -> str:
    """Return a fresh `<prefix>_<26 characters>` whose order is the order of its making.

    The suffix is a UUIDv7 (RFC 9562) in Crockford's base32, as the TypeID specification says.
    """
    milliseconds = time.time_ns() // 1_000_000
    random_bits = secrets.randbits(74)
    value = milliseconds << 80 | 7 << 76 | (random_bits >> 62) << 64
    value |= 0b10 << 62 | (random_bits & (1 << 62) - 1)
    return f"{prefix}_{_base32(value, 26)}"


def is_id(text: str, prefix: str) -> bool:
    """Tell whether the text has the form of an id of this prefix."""
    return text.startswith(f"{prefix}_") and _SUFFIX.fullmatch(text[len(prefix) + 1 :]) is not None


def _base32(value: int, length: int) -> str:
    return "".join(_ALPHABET[value >> 5 * place & 31] for place in range(length - 1, -1, -1))
