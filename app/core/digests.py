"""Digests of what was given, so that the same given again is known for the same."""

from hashlib import sha256
from typing import Any

import orjson


def digest_of(value: Any) -> str:
    """Hash a value of JSON's types and of moments, whatever the order of its keys."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()
