"""Cells that a spreadsheet would take for a formula (security, 7: CSV)."""

from typing import Any

_RISKY = frozenset("=+-@\t\r\n\"'")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe(value: Any) -> Any:
    """Put an apostrophe before a text that begins like a formula, quotes aside; numbers stay."""
    if type(value) is not str or value[:1] not in _RISKY:
        return value
    return f"'{value}" if value.lstrip("\"'").startswith(_FORMULA) else value


def flat(value: Any) -> Any:
    """Bring a list into one cell; anything else stays."""
    return "; ".join(map(str, value)) if type(value) is list else value
