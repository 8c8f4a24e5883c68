"""The two strings of a credential: random characters and a checksum against typing errors."""

import hashlib
import secrets
import string
import zlib
from dataclasses import dataclass

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECKSUM_LENGTH = 6
KEY_PREFIX, KEY_RANDOM_LENGTH = "cqek_", 30
SECRET_PREFIX, SECRET_RANDOM_LENGTH = "cqes_", 43
DISPLAY_LENGTH = 9


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The strings that the caller sees once."""

    api_key: str
    secret: str


def new_pair() -> KeyPair:
    """Make a key string of 178 random bits and a secret of 256."""
    return KeyPair(
        _with_checksum(KEY_PREFIX, KEY_RANDOM_LENGTH),
        _with_checksum(SECRET_PREFIX, SECRET_RANDOM_LENGTH),
    )


def is_key_string(text: str) -> bool:
    """Whether the text has the form and the checksum of a key string; reads no table."""
    length = len(KEY_PREFIX) + KEY_RANDOM_LENGTH + _CHECKSUM_LENGTH
    if len(text) != length or not text.startswith(KEY_PREFIX) or not text.isascii():
        return False
    body, checksum = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    return _checksum(body) == checksum


def hash_of(api_key: str) -> str:
    """Return the SHA-256 that a key is stored under; enough for 178 random bits (ASVS 6.5.2)."""
    return hashlib.sha256(api_key.encode()).hexdigest()


def _with_checksum(prefix: str, length: int) -> str:
    body = prefix + "".join(secrets.choice(_BASE62) for _ in range(length))
    return body + _checksum(body)


def _checksum(body: str) -> str:
    value = zlib.crc32(body.encode())
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = _BASE62[digit] + digits
    return digits
