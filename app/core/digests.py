"""Digests of values, to recognise input that was given before."""

from hashlib import sha256
from typing import Any

import orjson


def digest_of(value: Any) -> str:
    """Hash a value of JSON types and timestamps, independent of the order of its keys."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()
